import { isSha256 } from './attached.ts';

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
/** Claims of messages, by which one of several hosts takes each (pools.md). */
export const CLAIMS = 'data/claims';
const EVENTS = 'data/events';
export const HOST_REPORTS = 'data/hosts';

/**
 * The parts of a transport that a checkout shows (trust.md §1). Everything else stays in git's
 * objects, so that no file that arrives is in a place where a program looks for its settings.
 */
export const SHOWN_FILES: readonly string[] = ['.gitignore', 'AGENTS.md', 'CLAUDE.md'];
export const SHOWN_FOLDERS: readonly string[] = [UPSTREAM, 'local', HOSTS, CHANNELS, MEMORIES];
/** Folders of a transport that a checkout does not show. */
export const HIDDEN_FOLDERS: readonly string[] = [FILES, CLAIMS, EVENTS, HOST_REPORTS];

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
  if (path === CLAIMS || path.startsWith(`${CLAIMS}/`)) return 'enter';
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

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const REL_PATH = /^(\d{4})\/(\d{2})\/(\d{2})\/(\d{9})Z-([0-9a-fA-F]{8,64})\.md$/;

/** Whether a text is the logical name of an actor or operator without a tier, or a host's alias (protocol.md §2). */
export function isName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text);
}

/**
 * Whether a message may name this as its sender or addressee: a name, or words such as a person's
 * name, which plain 6.0 writes. Such a text is never part of a path.
 */
export function isSender(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > 64) return false;
  // The form of 6.0: words separated by single blanks, in any script. Most are plain names, and only the
  // tables of all scripts take time to load.
  return (
    NAME.test(text) || /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]*(?: [\p{L}\p{M}\p{N}._-]+)*$/u.test(text)
  );
}

/** Whether a text is a channel id: a UUID, in the spelling of its folder's name (protocol.md §2). */
export function isChannelId(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text);
}

/** Whether a text is a message's path inside its channel folder: `YYYY/MM/DD/HHMMSSmmmZ-<hex>.md`. */
export function isRelPath(text: unknown): text is string {
  return typeof text === 'string' && text.length <= 96 && REL_PATH.test(text);
}

/**
 * Returns the relPath of a message written at the time `at`.
 *
 * @param suffix at least 8 lower-case hex digits from a CSPRNG
 */
export function relPathAt(at: Date, suffix: string): string {
  const [date = '', time = ''] = at.toISOString().split('T');
  return `${date.replaceAll('-', '/')}/${time.replace(/[:.Z]/g, '')}Z-${suffix}.md`;
}

/** Returns the time in a message's path, as ISO 8601 in UTC; null if it has none. */
export function writtenAt(relPath: string): string | null {
  const digits = /^(\d{4})\/(\d{2})\/(\d{2})\/(\d{2})(\d{2})(\d{2})(\d{3})/.exec(relPath);
  if (digits === null) return null;
  const [, year = '', month = '', day = '', ...clock] = digits;
  const [hours = '', minutes = '', seconds = '', ms = ''] = clock;
  const iso = `${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${ms}Z`;
  // Not every sequence of digits is a valid time.
  return Number.isNaN(Date.parse(iso)) ? null : iso;
}

/** Returns the hex suffix of a relPath, by which a message may be named if it is unique (cli.md). */
export function suffixOf(relPath: string): string {
  return REL_PATH.exec(relPath)?.[5] ?? '';
}

/** Returns the day folder of a relPath, `YYYY/MM/DD`. */
function dayOf(relPath: string): string {
  return relPath.slice(0, 10);
}

/** Turns free text into a valid name; undefined when no part of it can be used. */
export function toName(text: string): string | undefined {
  const name = text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64);
  return isName(name) ? name : undefined;
}

/** Returns the day before that of a relPath, `YYYY/MM/DD`. */
export function dayBefore(relPath: string): string {
  const day = new Date(`${dayOf(relPath).replaceAll('/', '-')}T00:00:00Z`);
  if (Number.isNaN(day.getTime())) return dayOf(relPath);
  day.setUTCDate(day.getUTCDate() - 1);
  return day.toISOString().slice(0, 10).replaceAll('-', '/');
}

/**
 * Name of a message relative to a channel: its relPath inside that channel, and `<channel id>/<relPath>` in
 * any other (talk.md, "Across channels").
 */
export type Ref = string;

/** Whether a text names a message of any channel, as `origin` does: `<channel id>/<relPath>`. */
export function isOrigin(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  const slash = text.indexOf('/');
  return slash > 0 && isChannelId(text.slice(0, slash)) && isRelPath(text.slice(slash + 1));
}

/** Returns the name in `home` of a message of `channel`. */
export function refFrom(home: string, channel: string, relPath: string): Ref {
  return channel === home ? relPath : `${channel}/${relPath}`;
}

/** Returns the channel and relPath to which a name in `home` refers. */
export function placeOfRef(home: string, ref: Ref): MessageRef {
  if (!isForeign(ref)) return { channel: home, relPath: ref };
  const slash = ref.indexOf('/');
  return { channel: ref.slice(0, slash), relPath: ref.slice(slash + 1) };
}

/** Compares messages of several channels by time, that is by relPath, in whichever channel they are. */
export function byTime(one: Ref, other: Ref): number {
  const [a, b] = [placeOfRef('', one).relPath, placeOfRef('', other).relPath];
  return a === b ? (one < other ? -1 : Number(one > other)) : a < b ? -1 : 1;
}

/** Whether a name refers to a message of another channel than the current one. */
export function isForeign(ref: Ref): boolean {
  return isOrigin(ref);
}

/** Converts names in `channel` to names in `home`. */
export function refsFrom(home: string, channel: string, refs: readonly Ref[]): Ref[] {
  return refs.map((ref) => {
    const place = placeOfRef(channel, ref);
    // Return the same string where it does not change, because a header may contain hundreds.
    return isForeign(ref) && place.channel !== home
      ? ref
      : refFrom(home, place.channel, place.relPath);
  });
}

/** Groups names in `home` by channel, as relPaths. */
export function byChannel(home: string, refs: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const ref of refs) {
    const { channel, relPath } = placeOfRef(home, ref);
    const list = found.get(channel);
    if (list === undefined) found.set(channel, [relPath]);
    else list.push(relPath);
  }
  return found;
}

/** A message identified by its channel and its path. */
export interface MessageRef {
  /** The id of the channel. */
  channel: string;
  relPath: string;
}

/** Returns a text that identifies a message among those of all channels, as in `data/channels/`. */
export function messageKey({ channel, relPath }: MessageRef): string {
  return `${channel}/${relPath}`;
}
