import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '../../errors.ts';
import { isWithin, type Shown, type View } from './mounts.ts';

/**
 * What is shown of the system: folders that the system's packages fill, and no user of the machine; of a
 * symlink, the link.
 */
const SYSTEM = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt'],
  ...['/nix/store', '/nix/var/nix/profiles', '/run/current-system', '/gnu/store'],
  ...['/var/lib/dpkg', '/var/lib/ca-certificates', '/var/cache/fontconfig'],
];

/**
 * Of these, folders in which administrators keep things of their own: they are looked through, and what not
 * everybody on the machine may read is not shown, also not to a dispatcher of root.
 */
export const KEPT_BY_HAND: readonly string[] = ['/etc', '/opt', '/usr/local'];

/** What is shown of the system, with the file that says how names of hosts are found. */
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
 * What in /proc is not about a process. To root it says how the whole machine works, and root may write it in a
 * sandbox too; nobody else may. A mount over it also keeps whoever is in a sandbox from mounting another /proc,
 * which a sandbox that an agent CLI makes needs.
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
 * @returns what is at the end, the first symlink that may not be followed, or what cannot be looked at, as in a
 *   folder whose mode a run has changed; undefined where nothing is
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

/** As many as the kernel follows. */
const MOST_LINKS = 40;

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** The kind of thing that is at a path; `odd` is a socket and the like, `closed` what cannot be looked at. */
export async function kindOf(
  path: string,
): Promise<'folder' | 'file' | 'link' | 'odd' | 'none' | 'closed'> {
  const found = await lstat(path).catch(isAbsent);
  if (typeof found === 'boolean') return found ? 'none' : 'closed';
  if (found.isSymbolicLink()) return 'link';
  if (found.isDirectory()) return 'folder';
  return found.isFile() ? 'file' : 'odd';
}

/** A path without symlinks; as it is where nothing is there, and as far as it can be looked at. */
export async function real(path: string): Promise<string> {
  const found = await realpath(path).catch(isAbsent);
  if (typeof found === 'string') return found;
  const at = found ? undefined : await follow(path, () => true);
  return at !== undefined && 'closed' in at ? at.closed : path;
}

/** Whether an error says that nothing is there, and not that it cannot be looked at. */
function isAbsent(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR');
}
