import { isAbsolute, resolve, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import type { Clone } from './clone.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { Git } from '../git/git.ts';

/** A setting as git's configuration holds it: its full name and one value. */
export type Setting = readonly [name: string, value: string];

/** The address of a remote, split into the part that may be on a command line and the part that may not. */
export interface Access {
  /** Without a password; a path of this machine is absolute. */
  url: string;
  /** The user of the URL. */
  username?: string;
  /** The password of the URL, which belongs in a file that only we can read. */
  password?: string;
}

const WEB_URL = /^(https?:\/\/)([^/@\s]*)@(.*)$/s;

/** Whether a remote is named by a URL or `host:path`, and not by a path of this machine. */
function isUrl(remote: string): boolean {
  return /^[A-Za-z][\w+.-]*:/.test(remote) || /^[^/]+:/.test(remote);
}

/**
 * Splits a remote's address into its parts.
 *
 * @param dir the folder that a relative path starts from
 */
export function accessOf(remote: string, dir: string): Access {
  if (!isUrl(remote)) return { url: isAbsolute(remote) ? remote : resolve(dir, remote) };
  const [, scheme = '', user = '', rest = ''] = WEB_URL.exec(remote) ?? [];
  if (scheme === '') return { url: remote };
  const colon = user.indexOf(':');
  const username = decoded(colon < 0 ? user : user.slice(0, colon));
  return {
    url: `${scheme}${rest}`,
    username,
    ...(colon >= 0 && { password: decoded(user.slice(colon + 1)) }),
  };
}

const DEFAULT_PORTS = new Map([
  ['http', '80'],
  ['https', '443'],
  ['ssh', '22'],
  ['git', '9418'],
]);

/** Splits an address into server and path; a path of this machine has no server. */
export function takenApart(url: string): { server?: string; path: string } {
  const scheme = /^([a-z][\w+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  const rest = scheme === undefined ? url : url.slice(scheme.length + '://'.length);
  const end = rest.indexOf(scheme === undefined ? ':' : '/');
  if (scheme === undefined && (end < 0 || rest.startsWith('/'))) return { path: url };
  // As git reads it, a name in the place of a host is the start of the path.
  if (scheme === 'file') return { path: `/${rest}` };
  const authority = end < 0 ? rest : rest.slice(0, end);
  const at = authority.lastIndexOf('@');
  const named = authority.slice(0, Math.max(at, 0)).split(':')[0] ?? '';
  const user = named === 'git' || scheme?.startsWith('http') === true ? '' : named;
  const host = authority
    .slice(at + 1)
    .toLowerCase()
    .replace(/:$/, '');
  const port = `:${DEFAULT_PORTS.get(scheme ?? '') ?? ''}`;
  const server = `${user && `${user}@`}${host.endsWith(port) ? host.slice(0, -port.length) : host}`;
  if (scheme !== undefined) return { server, path: end < 0 ? '' : rest.slice(end) };
  const path = rest.slice(end + 1);
  // Except at a forge, the path starts at that user's home.
  const isAtHome = named !== 'git' && !/^[/~]/.test(path);
  return { server, path: `/${isAtHome ? '~/' : ''}${path}` };
}

/**
 * Returns the reason why a remote is never used, or undefined: some transports of git run a command
 * (trust.md §1).
 */
export function refusedRemote(remote: string): string | undefined {
  if (/^(ext|fd)::/i.test(remote)) return 'it runs a command or takes over a file';
  if (remote.startsWith('-') || /^\w+:\/\/-/.test(remote)) return 'it begins like an option';
  return /[\0\r\n]/.test(remote) ? 'it holds a line feed' : undefined;
}

/**
 * Returns the settings by which git reaches a remote without its password on any command line.
 *
 * @param file holds the credentials, in the format of git's credential helpers
 */
export function accessSettings({ url, username, password }: Access, file: string): Setting[] {
  if (username === undefined) return [];
  if (password === undefined) return [[`credential.${url}.username`, username]];
  const path = `'${file.replaceAll("'", `'\\''`)}'`;
  // The empty helper removes the helpers configured before it. Git's own helper for files cannot be used:
  // it forgets a password that was refused once.
  const helper = `!f() { test "$1" = get && cat ${path}; }; f`;
  return [
    [`credential.${url}.helper`, ''],
    [`credential.${url}.helper`, helper],
  ];
}

/** Formats the credentials for git's credential helpers; undefined when there are none. */
export function credentialsText({ username, password }: Access): string | undefined {
  if (username === undefined || password === undefined) return undefined;
  const plain = (text: string): string => text.replace(/[\0\r\n]/g, '');
  return `username=${plain(username)}\npassword=${plain(password)}\n`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Refuses a clone that has remotes, but none called origin: taken for a clone without a remote, it would
 * keep everything that it sends on this machine (protocol.md §5).
 *
 * @throws CrosstalkError `refused`
 */
export function assertOrigin({ dir }: Clone, settings: readonly Setting[]): void {
  const remotes = settings.flatMap(([name]) => /^remote\.(.+)\.url$/.exec(name)?.[1] ?? []);
  const [other] = remotes;
  if (other === undefined || remotes.includes('origin')) return;
  throw new CrosstalkError(
    'refused',
    `the clone ${dir} has no remote called origin, but ${[...new Set(remotes)].slice(0, 5).join(', ')}; say which one is the bus with: git -C ${dir} remote rename ${other} origin`,
  );
}

/** Seconds that a remote has to answer somebody without a login. */
const PATIENCE = '20';

/** The answer of a remote to somebody without a login. */
type ForAnyone =
  | { kind: 'answers'; address: string }
  | { kind: 'refuses' }
  /** The remote could not be asked, so the answer is not known. */
  | { kind: 'unknown'; reason: string };

/**
 * Asks a remote for its branches without any credentials: as https where it is reached by ssh, since that
 * is where a forge answers everybody who may read. No key, password, helper or setting of the user has
 * any effect.
 *
 * @param url after git's own rewriting
 */
export async function askAsAnyone(url: string, environment: NodeJS.ProcessEnv): Promise<ForAnyone> {
  const address = openAddress(url);
  if (address === undefined) return { kind: 'refuses' };
  const scratch = await mkdtemp(join(tmpdir(), 'crosstalk-anyone-'));
  try {
    const git = new Git(scratch, {
      ...environment,
      HOME: scratch,
      XDG_CONFIG_HOME: scratch,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
      GIT_CEILING_DIRECTORIES: tmpdir(),
      CROSSTALK_NETWORK_TIMEOUT: environment['CROSSTALK_NETWORK_TIMEOUT'] ?? PATIENCE,
    });
    const asked = await git.run(['ls-remote', '--quiet', '--', address, 'HEAD'], { network: true });
    if (asked.ok) return { kind: 'answers', address };
    const { kind, reason } = asked.failure;
    const isNo = kind === 'auth' || /\b40[134]\b|not found/i.test(reason);
    return isNo ? { kind: 'refuses' } : { kind: 'unknown', reason };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Returns the address by which everybody would read a remote; undefined for a path of this machine. */
function openAddress(url: string): string | undefined {
  const plain = accessOf(url, '/').url;
  if (/^(?:https?|git):\/\//i.test(plain)) return plain;
  const [, server = '', path = ''] =
    /^ssh:\/\/(?:[^@/]*@)?([^:/]+)(?::\d+)?\/(.*)$/i.exec(plain) ??
    /^(?:[^@/:]*@)?([^:/]+):(?!\/\/)\/?(.*)$/.exec(plain) ??
    [];
  return server === '' ? undefined : `https://${server}/${path}`;
}
