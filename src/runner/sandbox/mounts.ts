/** A folder or file of the sandbox, and its location on the machine. */
export interface Shown {
  path: string;
  from: string;
}

/** The file system of a process in a sandbox. Every path in it exists, and none has symlinks. Nothing else is there. */
export interface View {
  /** A folder in memory, in which parts of HOME are shown. */
  home?: string | undefined;
  /** Symlinks of the system, such as /bin. */
  links: readonly { path: string; target: string }[];
  /** Read-only mounts. */
  show: readonly Shown[];
  /** Writable mounts, under the same path. */
  write: readonly string[];
  /** Folders and files of its own, in the place of others. */
  own: readonly (Shown & { writable: boolean })[];
  /** Paths that are covered by something empty, wherever they would be visible. */
  cover: readonly { path: string; kind: 'folder' | 'file' }[];
  /** Read-only parts of writable mounts. */
  fixed: readonly string[];
  /** Entries of /proc that are not about processes. */
  proc: readonly string[];
}

interface Mount {
  path: string;
  /** Position among the mounts of one path; the highest is made last. */
  rank: number;
  args: readonly string[];
  /** Source on the machine; undefined for memory and for a cover. */
  from?: string;
  /** Whether a run may change its content for the next run. */
  lasts?: boolean;
}

/** Folders of its own in the place of those where other programs keep sockets and files. */
const OWN_FOLDERS: readonly string[] = ['/tmp', '/var/tmp', '/run'];

/**
 * Returns the arguments by which bubblewrap makes a view, from nothing: deeper paths are mounted over those
 * above them. A mount cannot be moved, but a folder above it can, and then the next run would see what it
 * covers or makes read-only. So in writable mounts each folder above a mount becomes a mount too.
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
  // Sealed only after all mounts in them are made.
  const sealed = mounts.filter(({ args }) => args[0] === '--tmpfs' && args.length > 2);
  return [
    ...['--dev', '/dev', '--proc', '/proc'],
    ...mounts.flatMap(({ args }) => args.slice(0, args[0] === '--tmpfs' ? 2 : 3)),
    ...[...sealed.map(({ path }) => path), '/'].flatMap((path) => ['--remount-ro', path]),
  ];
}

/** Returns the location on the machine of a path of the sandbox; undefined if it has none. */
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

/** Returns the mount that decides about a path. */
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
