/** What a process in a sandbox sees. All paths are absolute and have no symlinks. */
export interface View {
  home: string;
  /** Bound as they are, and may be written. */
  write: readonly string[];
  /** Bound as they are, where something above them is hidden. */
  read: readonly string[];
  /** Not there, or empty. */
  hide: readonly string[];
  /** Folders and files of its own, in the place of others: `from` is what is there. */
  own: readonly { path: string; from: string; writable: boolean }[];
  /** The folder in which it may connect to sockets of others. */
  talk?: string | undefined;
}

/** What is in a folder of this machine. */
export interface Entry {
  name: string;
  kind: 'folder' | 'file' | 'link';
  /** Of a link. */
  target?: string;
}

/** How the planner looks at this machine. */
export interface Machine {
  entries: (folder: string) => Entry[];
  kindOf: (path: string) => 'folder' | 'file' | 'none';
  /** The paths of sockets to which this user may connect. */
  sockets: () => string[];
}

interface Mount {
  path: string;
  /** In which order mounts of one path are made. */
  rank: number;
  args: readonly string[];
}

/** Folders that hold sockets and files of other programs. */
const OWN_FOLDERS = ['/tmp', '/var/tmp', '/run'];
/** More entries of a folder are not shown. */
const MOST_ENTRIES = 3000;

/**
 * The arguments by which bubblewrap makes a view: the whole machine, unwritable, in which what is deeper
 * is put over what is above it. A folder that has something hidden, or of its own, in it is made anew, with
 * everything else that is in it.
 */
export function mountsOf(view: View, machine: Machine): string[] {
  const mounts: Mount[] = [];
  const add = (rank: number, path: string, ...args: string[]): void => {
    mounts.push({ path, rank, args });
  };
  for (const path of OWN_FOLDERS)
    if (machine.kindOf(path) === 'folder') add(1, path, '--tmpfs', path);
  const special = [...view.hide, ...view.own.map(({ path }) => path)];
  const sealed: string[] = [];
  const isOpen = openHome(view, special, machine, add);
  for (const path of view.hide) {
    if (isOpen(path)) continue;
    const kind = machine.kindOf(path);
    if (kind === 'folder') {
      add(2, path, '--tmpfs', path);
      // Once everything that is put into it is there.
      sealed.push('--remount-ro', path);
    } else if (kind === 'file') add(2, path, '--ro-bind', '/dev/null', path);
  }
  for (const { path, from, writable } of view.own)
    add(3, path, writable ? '--bind' : '--ro-bind', from, path);
  for (const path of view.read) add(4, path, '--ro-bind-try', path, path);
  for (const path of view.write) add(5, path, '--bind-try', path, path);
  // That it may not write there does not keep a process from connecting to a socket.
  for (const path of machine.sockets())
    if (isSeen(path, view) && !isOpen(path)) add(6, path, '--ro-bind', '/dev/null', path);
  mounts.sort((a, b) => depth(a.path) - depth(b.path) || a.rank - b.rank);
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...mounts.flatMap(({ args }) => args),
    ...sealed,
  ];
}

/**
 * Makes the home folder anew, and the folders in it that have something special in them.
 *
 * @returns whether a path is left out by that, so that nothing has to be put over it
 */
function openHome(
  { home }: View,
  special: readonly string[],
  machine: Machine,
  add: (rank: number, path: string, ...args: string[]) => void,
): (path: string) => boolean {
  const opened = new Set<string>();
  const open = (folder: string): void => {
    opened.add(folder);
    add(1, folder, '--tmpfs', folder);
    for (const { name, kind, target = '' } of machine.entries(folder).slice(0, MOST_ENTRIES)) {
      const path = `${folder}/${name}`;
      if (special.includes(path)) continue;
      if (kind === 'link') add(2, path, '--symlink', target, path);
      else if (kind === 'folder' && special.some((one) => one.startsWith(`${path}/`))) open(path);
      else add(2, path, '--ro-bind-try', path, path);
    }
  };
  if (home !== '/' && machine.kindOf(home) === 'folder') open(home);
  return (path) => opened.has(path.slice(0, path.lastIndexOf('/')));
}

/** Whether a path outside of the sandbox is what is there in it, and belongs to others. */
function isSeen(path: string, { home, hide, own, read, write, talk }: View): boolean {
  const isBelow = (folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
  if (talk !== undefined && isBelow(talk)) return false;
  const deepest = (folders: readonly string[]): number =>
    Math.max(0, ...folders.filter(isBelow).map(depth));
  const replaced = deepest([...OWN_FOLDERS, ...hide, ...own.map((one) => one.path)]);
  return replaced === 0 || deepest([home, ...read, ...write]) >= replaced;
}

function depth(path: string): number {
  return path.split('/').length;
}
