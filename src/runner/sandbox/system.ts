import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '../../errors.ts';
import { isWithin, type Shown, type View } from './mounts.ts';

/**
 * Parts of the system that are shown: folders filled by the system's packages, and by no user of the machine;
 * of a symlink, the link.
 */
const SYSTEM = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt'],
  ...['/nix/store', '/nix/var/nix/profiles', '/run/current-system', '/gnu/store'],
  ...['/var/lib/dpkg', '/var/lib/ca-certificates', '/var/cache/fontconfig'],
];

/**
 * Folders among these in which administrators keep files of their own: they are searched, and entries that
 * not everybody on the machine may read are hidden, even from a dispatcher of root.
 */
export const KEPT_BY_HAND: readonly string[] = ['/etc', '/opt', '/usr/local'];

/** Returns the shown parts of the system, with the file that configures the resolution of host names. */
export async function systemPlaces(): Promise<Pick<View, 'links' | 'show' | 'proc'>> {
  const links: { path: string; target: string }[] = [];
  const show: Shown[] = [];
  for (const path of SYSTEM) {
    const kind = await kindOf(path);
    if (kind === 'link') links.push({ path, target: await readlink(path) });
    else if (kind !== 'none' && kind !== 'closed') show.push({ path, from: path });
  }
  const names = await real('/etc/resolv.conf');
  if (!isWithin(names, '/etc') && (await kindOf(names)) === 'file')
    show.push({ path: names, from: names });
  return { links, show, proc: await sharedOfProc() };
}

/**
 * Returns the entries of /proc that are not about a process. They tell root how the whole machine works, and
 * root may write them in a sandbox too; nobody else may. A mount over them also prevents programs in the
 * sandbox from mounting another /proc, which the sandboxes that agent CLIs make need.
 */
async function sharedOfProc(): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const names = (await readdir('/proc')).filter((name) => !/^\d+$/.test(name));
  const kinds = await Promise.all(names.map(async (name) => kindOf(`/proc/${name}`)));
  return names
    .filter((_, at) => !['link', 'none'].includes(kinds[at] ?? ''))
    .map((name) => `/proc/${name}`);
}

/**
 * Follows a path, one symlink after the other.
 *
 * @param mayPass whether a symlink may be followed; its folder is given without symlinks
 * @returns the end of the path, the first symlink that may not be followed, or the entry that cannot be examined, as in
 *   a folder whose mode a run has changed; undefined if nothing is there
 */
export async function follow(
  path: string,
  mayPass: (link: string) => boolean,
): Promise<{ at: string } | { link: string } | { closed: string } | undefined> {
  let rest = namesOf(path);
  let at = '';
  for (let links = 0; rest.length > 0;) {
    const [name = '', ...after] = rest;
    const next = name === '..' ? dirname(at) : `${at}/${name}`;
    const kind = await kindOf(next);
    if (kind === 'none') return undefined;
    if (kind === 'closed') return { closed: next };
    if (kind === 'link') {
      if (!mayPass(next)) return { link: next };
      if (links++ > MOST_LINKS) return undefined;
      const target = await readlink(next);
      rest = [...namesOf(target), ...after];
      if (target.startsWith('/')) at = '';
    } else {
      rest = after;
      at = next === '/' ? '' : next;
    }
  }
  return { at: at === '' ? '/' : at };
}

/** The kernel's limit. */
const MOST_LINKS = 40;

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** Returns the kind of entry at a path; `odd` is a socket and the like, `closed` an entry that cannot be examined. */
export async function kindOf(
  path: string,
): Promise<'folder' | 'file' | 'link' | 'odd' | 'none' | 'closed'> {
  const found = await lstat(path).catch(isAbsent);
  if (typeof found === 'boolean') return found ? 'none' : 'closed';
  if (found.isSymbolicLink()) return 'link';
  if (found.isDirectory()) return 'folder';
  return found.isFile() ? 'file' : 'odd';
}

/**
 * Resolves the symlinks of a path; returns it unchanged if nothing is there, and up to the first entry that
 * cannot be examined.
 */
export async function real(path: string): Promise<string> {
  const found = await realpath(path).catch(isAbsent);
  if (typeof found === 'string') return found;
  const at = found ? undefined : await follow(path, () => true);
  return at !== undefined && 'closed' in at ? at.closed : path;
}

/** Whether an error says that nothing is there, rather than that it cannot be examined. */
function isAbsent(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR');
}
