import { dirname, relative } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { isWithin, type Shown, type View } from '../../runner/sandbox/mounts.ts';
import { follow, kindOf, real } from '../../runner/sandbox/system.ts';
import { inHome } from '../../agents/command-line.ts';
import type { Confinement } from './git-settings.ts';

/** Folders of HOME into which installers and version managers put programs, and nothing else. */
const TOOLCHAINS = [
  ...['bin', '.local/bin', '.local/lib', '.local/pipx', '.local/share/pipx', '.local/share/uv'],
  ...['.local/share/claude', '.local/share/mise', '.local/share/fnm', '.local/share/pnpm'],
  ...[
    '.nvm',
    '.config/nvm',
    '.fnm',
    '.volta',
    '.nodenv',
    '.npm-global',
    '.bun',
    '.deno',
    '.opencode/bin',
  ],
  ...['.cargo/bin', '.rustup', 'go/bin', '.pyenv', '.rbenv', '.asdf', '.sdkman', '.nix-profile'],
];

/** Variables that name certificates. */
const CERTIFICATES = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'];

/** Returns the folders that runs of some tiers may write, without symlinks. */
export async function writtenBy(tiers: Confinement['tiers'], home: string): Promise<string[]> {
  const named = tiers.flatMap(({ workdir, sandbox }) => [
    ...(workdir === undefined ? [] : [workdir]),
    ...(sandbox?.write ?? []),
  ]);
  return Promise.all(named.map((path) => real(inHome(path, home))));
}

/**
 * Returns the path of a file of this machine, without symlinks; undefined if there is none, or if a symlink on the
 * way is in a folder that runs may write, so that it may be theirs.
 */
export async function ownPlace(
  path: string,
  written: readonly string[],
): Promise<string | undefined> {
  const found = await follow(path, (link) => !written.some((place) => isWithin(link, place)));
  return found !== undefined && 'at' in found ? found.at : undefined;
}

/** Programs in HOME, and certificates that the variables name. */
export async function toolsOf(
  home: string,
  env: NodeJS.ProcessEnv,
  written: readonly string[],
): Promise<Shown[]> {
  const named = CERTIFICATES.map((name) => env[name] ?? '').filter((path) => path.startsWith('/'));
  const paths = [...TOOLCHAINS.map((path) => `${home}/${path}`), ...named];
  const found = await Promise.all(
    paths.map(async (path) => {
      const from = await ownPlace(path, written);
      return from === undefined ? [] : [{ path, from }];
    }),
  );
  return found.flat();
}

/** Returns the symlink by which HOME is found where it is spelled with one. */
export function homeLink(spelled: string | undefined, home: string): View['links'] {
  if (spelled === undefined || spelled === home || !spelled.startsWith('/')) return [];
  // A link that began with / would lead out of the sandbox while that is made.
  return [{ path: spelled, target: relative(dirname(spelled), home) }];
}

/**
 * Returns a path that a tier names, without symlinks. In a folder that runs may write, a symlink may be theirs, and
 * lead to paths that the tier does not name.
 *
 * @param places folders that runs may write, without symlinks
 * @returns undefined if there is no folder and no file
 * @throws CrosstalkError `refused` for such a symlink, and for what the kernel shows as files
 */
export async function namedPlace(
  path: string,
  places: readonly string[],
): Promise<string | undefined> {
  const found = await follow(path, (link) => !places.some((place) => isWithin(link, place)));
  if (found === undefined) return undefined;
  if ('closed' in found) {
    if (places.some((place) => isWithin(found.closed, place))) throw closed(found.closed);
    return undefined;
  }
  if ('link' in found)
    throw unsafe(
      `${path} of the sandbox leads by the symlink ${found.link}, in a folder that runs may write; name the place that is meant itself`,
    );
  const { at } = found;
  if (at === '/' || ['/proc', '/sys', '/dev'].some((kernel) => isWithin(at, kernel)))
    throw unsafe(`${path} cannot be shown in a sandbox; name the folders that are needed`);
  const kind = await kindOf(at);
  return kind === 'folder' || kind === 'file' ? at : undefined;
}

/**
 * Returns the error for a run that may not start because a run may have changed the mode of a folder, and with that
 * the visible files.
 */
export function closed(path: string): CrosstalkError {
  return unsafe(
    `${path}, in a folder that runs may write, cannot be looked at; give its folder back the rights that it had`,
  );
}

/** Returns the error for a run that may not start in a sandbox; its mail waits. */
export function unsafe(problem: string): CrosstalkError {
  return new CrosstalkError('refused', problem, { data: { kind: 'no_sandbox' } });
}
