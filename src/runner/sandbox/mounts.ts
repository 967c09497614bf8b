/** A folder or file of the sandbox, and where on the machine it is. */
export interface Shown {
  path: string;
  from: string;
}

/**
 * What a process in a sandbox sees. Everything it names exists, and no path has symlinks. What is not named is
 * not there.
 */
export interface View {
  /** A folder in memory, in which things of HOME are shown. */
  home?: string | undefined;
  /** Symlinks of the system, such as /bin. */
  links: readonly { path: string; target: string }[];
  /** Unwritable. */
  show: readonly Shown[];
  /** Bound as they are, and may be written. */
  write: readonly string[];
  /** Folders and files of its own, in the place of others. */
  own: readonly (Shown & { writable: boolean })[];
  /** Empty, wherever they would be seen. */
  cover: readonly { path: string; kind: 'folder' | 'file' }[];
  /** Unwritable in what may be written. */
  fixed: readonly string[];
  /** What of /proc is not about processes. */
  proc: readonly string[];
}

interface Mount {
  path: string;
  /** In which order mounts of one path are made. */
  rank: number;
  args: readonly string[];
  /** What of the machine is in it; undefined for memory and for what is covered. */
  from?: string;
  /** Whether a run may change what is in it for the next run. */
  lasts?: boolean;
}

/** Folders of its own that lie where other programs keep sockets and files. */
const OWN_FOLDERS: readonly string[] = ['/tmp', '/var/tmp', '/run'];

/**
 * The arguments by which bubblewrap makes a view, from nothing: what is deeper is put over what is above it.
 * A mount cannot be moved, but a folder above it can, and what it covers or keeps unwritable would be there
 * again in the next run. So in what may be written each folder above a mount is made a mount too.
 */
export function mountsOf(view: View): string[] {
  const mounts = planned(view);
  for (const { path } of [...mounts]) {
    for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
      const under = deepest(above, mounts);
      if (under?.from === undefined || under.path === above || under.lasts !== true) break;
      const from = `${under.from}${above.slice(under.path.length)}`;
      mounts.push({ path: above, rank: 0, args: ['--bind', from, above], from, lasts: true });
    }
  }
  mounts.sort((a, b) => depth(a.path) - depth(b.path) || a.rank - b.rank);
  // Once everything that is put into them is there.
  const sealed = mounts.filter(({ args }) => args[0] === '--tmpfs' && args.length > 2);
  return [
    ...['--dev', '/dev', '--proc', '/proc'],
    ...mounts.flatMap(({ args }) => args.slice(0, args[0] === '--tmpfs' ? 2 : 3)),
    ...[...sealed.map(({ path }) => path), '/'].flatMap((path) => ['--remount-ro', path]),
  ];
}

/** Where on the machine a path of the sandbox is; undefined where nothing of the machine is there. */
export function placeOf(path: string, view: View): string | undefined {
  const under = deepest(path, planned(view));
  return under?.from === undefined ? undefined : `${under.from}${path.slice(under.path.length)}`;
}

function planned(view: View): Mount[] {
  const memory = [...OWN_FOLDERS, ...(view.home === undefined ? [] : [view.home])];
  const bound = (rank: number, { path, from }: Shown, way: '--bind' | '--ro-bind'): Mount => {
    return { path, rank, args: [way, from, path], from };
  };
  const seen: Mount[] = [
    ...memory.map((path) => ({ path, rank: 1, args: ['--tmpfs', path] })),
    ...view.links.map(({ path, target }) => {
      return { path, rank: 1, args: ['--symlink', target, path], from: path };
    }),
    ...view.proc.map((path) => bound(1, { path, from: path }, '--ro-bind')),
    ...view.show.map((one) => bound(3, one, '--ro-bind')),
    ...view.own.map((one) => bound(4, one, one.writable ? '--bind' : '--ro-bind')),
    ...view.write.map((path) => ({ ...bound(5, { path, from: path }, '--bind'), lasts: true })),
  ];
  const inside = (path: string): boolean => deepest(path, seen)?.from !== undefined;
  const fixed = view.fixed
    .filter(inside)
    .map((path) => bound(2, { path, from: path }, '--ro-bind'));
  const covers = view.cover
    .filter(({ path }) => inside(path))
    .map(({ path, kind }): Mount => {
      const args =
        kind === 'folder' ? ['--tmpfs', path, 'sealed'] : ['--ro-bind', '/dev/null', path];
      return { path, rank: 6, args };
    });
  return [...seen, ...fixed, ...covers];
}

/** The mount that decides what is at a path. */
function deepest(path: string, mounts: readonly Mount[]): Mount | undefined {
  return mounts
    .filter((one) => isWithin(path, one.path))
    .reduce<Mount | undefined>((found, one) => {
      if (found === undefined || one.path.length > found.path.length) return one;
      return one.path.length === found.path.length && one.rank >= found.rank ? one : found;
    }, undefined);
}

/** Whether a path is a folder, or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function depth(path: string): number {
  return path.split('/').length;
}
