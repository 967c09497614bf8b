import { isSha256 } from './attached.ts';
import { isChannelId, isName, isRelPath } from './names.ts';

/** Version that this program supports; a transport of any other version is refused (protocol.md §1). */
const PROTOCOL_VERSION = '6.0';

export const VERSION_FILE = 'upstream/CROSSTALK-VERSION';
/** Identity of the transport, with the place where it was made: `upgrade` leaves `local/` alone. */
export const IDENTITY_FILE = 'local/IDENTITY';
export const PROTOCOL_FILE = 'upstream/PROTOCOL.md';
export const OPERATOR_FILE = 'upstream/OPERATOR.md';
export const UPSTREAM = 'upstream';
export const CHANNELS = 'data/channels';
export const HOSTS = 'hosts';
export const MEMORIES = 'data/memories';
export const SCHEDULES = 'local/schedules';
export const SUBSCRIPTIONS = 'local/subscriptions';
export const FILES = 'data/files';
const EVENTS = 'data/events';
export const HOST_REPORTS = 'data/hosts';

/**
 * The parts of a transport that a checkout shows (trust.md §1). Everything else stays in git's
 * objects, so that no file that arrives is in a place where a program looks for its settings.
 */
export const SHOWN_FILES: readonly string[] = ['.gitignore', 'AGENTS.md', 'CLAUDE.md'];
export const SHOWN_FOLDERS: readonly string[] = [UPSTREAM, 'local', HOSTS, CHANNELS, MEMORIES];
/** Folders of a transport that a checkout does not show. */
export const HIDDEN_FOLDERS: readonly string[] = [FILES, 'data/claims', EVENTS, HOST_REPORTS];

export const channelFile = (id: string): string => `${CHANNELS}/${id}/CHANNEL.md`;
export const messageFile = (id: string, relPath: string): string => `${CHANNELS}/${id}/${relPath}`;
/** Returns the path of the bytes of an attached file (talk.md). */
export const attachedPath = (sha256: string): string => `${FILES}/${sha256.slice(0, 2)}/${sha256}`;
/** Returns the path that records an event which may happen only once (automation.md). */
export const eventFile = (sha256: string): string => `${EVENTS}/${sha256}`;
/** Returns the path of the report of a host's dispatcher. */
export const hostReportFile = (alias: string): string => `${HOST_REPORTS}/${alias}.json`;
export const memoryFile = (file: string): string => `${MEMORIES}/${file}`;
export const scheduleFile = (name: string): string => `${SCHEDULES}/${name}.md`;
export const subscriptionFile = (name: string): string => `${SUBSCRIPTIONS}/${name}.md`;
export const hostFile = (alias: string): string => `${HOSTS}/${alias}.md`;
/** Returns the paths at which an actor's profile may be; the operator's own has precedence (protocol.md §1). */
export const profileFiles = (name: string): [local: string, upstream: string] => [
  `local/actors/${name}.md`,
  `upstream/actors/${name}.md`,
];

/** Kind of a path in the transport, determined from the path alone. */
export type Place =
  | { kind: 'message'; channel: string; relPath: string }
  | { kind: 'channel'; channel: string }
  | { kind: 'stray'; reason: string }
  | { kind: 'host' }
  | { kind: 'profile'; name: string }
  | { kind: 'upstream' }
  | { kind: 'file'; sha256: string }
  | { kind: 'other' };

/**
 * Determines the kind of a path; a stray file is one below `data/channels/` whose path is not that
 * of a message.
 */
export function placeOf(path: string): Place {
  const parts = path.split('/');
  if (path.startsWith(`${CHANNELS}/`)) return channelPlace(parts.slice(2));
  const profile = /^(?:local|upstream)\/actors\/([^/]+)\.md$/.exec(path)?.[1];
  if (profile !== undefined && isName(profile)) return { kind: 'profile', name: profile };
  const sha256 = parts[3];
  if (isSha256(sha256) && path === attachedPath(sha256)) return { kind: 'file', sha256 };
  if (parts[0] === UPSTREAM) return { kind: 'upstream' };
  if (parts[0] === HOSTS && parts.length === 2 && path.endsWith('.md')) return { kind: 'host' };
  return { kind: 'other' };
}

function channelPlace([id = '', ...inside]: string[]): Place {
  const relPath = inside.join('/');
  if (inside.at(-1)?.startsWith('.') === true) return { kind: 'other' };
  if (!isChannelId(id)) return { kind: 'stray', reason: 'its channel folder is not a UUID' };
  if (relPath === 'CHANNEL.md') return { kind: 'channel', channel: id };
  if (isRelPath(relPath)) return { kind: 'message', channel: id, relPath };
  return {
    kind: 'stray',
    reason: 'its path is not that of a message: YYYY/MM/DD/HHMMSSmmmZ-<hex>.md',
  };
}

/** Patterns of the names of the nested folders in `data/channels/<uuid>/`. */
const DATED = [/^\d{4}$/, /^\d{2}$/, /^\d{2}$/];
/** Folders that contain Crosstalk's files, or folders with such files. */
const OURS = new Set([
  'data',
  CHANNELS,
  MEMORIES,
  HOSTS,
  'local',
  'local/actors',
  UPSTREAM,
  'upstream/actors',
  'upstream/skills',
]);
/** Pattern of the folder of a skill that came with Crosstalk, which `upgrade` replaces. */
const SHIPPED_SKILL = /^upstream\/skills\/[a-z0-9-]+$/;

/**
 * Determines how code that walks through a transport treats a folder: it enters a folder that may contain
 * Crosstalk's files, names one that should be reported as if it were a file, and skips all others.
 */
export function folderUse(path: string): 'enter' | 'name' | 'skip' {
  if (OURS.has(path) || SHIPPED_SKILL.test(path)) return 'enter';
  if (path.startsWith(`${UPSTREAM}/`)) return 'name';
  if (!path.startsWith(`${CHANNELS}/`)) return 'skip';
  const [id = '', ...dated] = path.slice(CHANNELS.length + 1).split('/');
  return isChannelId(id) && dated.every((name, level) => DATED[level]?.test(name) === true)
    ? 'enter'
    : 'name';
}

/** Returns undefined when the version is supported, otherwise the reason why it is refused. */
export function versionProblem(
  content: string | undefined,
  where: string,
  { hasMail = false } = {},
): string | undefined {
  if (content === undefined) {
    return `no Crosstalk transport, ${where} has no ${VERSION_FILE}; go into one, name it with --transport <dir> or CROSSTALK_TRANSPORT, or make one with: crosstalk init in a project, crosstalk init <dir> elsewhere${hasMail ? `; if somebody removed that file, push it again with the one line ${PROTOCOL_VERSION}` : ''}`;
  }
  const version = content.replace(/\r?\n$/, '');
  if (version === PROTOCOL_VERSION) return undefined;
  const seen = JSON.stringify(version.slice(0, 20));
  return `unsupported protocol version, ${where} ${VERSION_FILE} says ${seen}; this program speaks exactly "${PROTOCOL_VERSION}": install the matching crosstalk, or, if somebody wrote that by mistake, push the file again with the one line ${PROTOCOL_VERSION}`;
}
