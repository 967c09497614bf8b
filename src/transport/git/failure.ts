import { withoutCredentials } from '../../credentials.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';

/** Kinds of failures of a git call, as far as callers distinguish them. */
const KINDS = [
  'behind',
  'contention',
  'no_branch',
  'another_bus',
  'unreachable',
  'auth',
  'rejected',
  'too_large',
  'no_space',
  'missing_object',
  'not_a_repository',
  'timed_out',
  'not_started',
  'refused',
  'held',
  'set_aside',
  'secret',
  'no_answer',
  'other',
] as const;

type FailureKind = (typeof KINDS)[number];

/** Returns the kind with the name that another process gives; `other` for an unknown name. */
export function failureKind(text: string): FailureKind {
  return KINDS.find((kind) => kind === text) ?? 'other';
}

export interface Failure {
  kind: FailureKind;
  /** Output of git, on one line, without credentials, invisible characters escaped. */
  reason: string;
  /** The path of the lock that blocked git, as git named it. */
  lock?: string;
  /** The commit of another bus in the place of this one. */
  commit?: string;
}

/** Checked in order against stderr and the porcelain lines of push; git runs with LC_ALL=C. */
const TABLE: readonly (readonly [FailureKind, RegExp])[] = [
  ['behind', /\[rejected\]|non-fast-forward|fetch first|stale info/],
  ['no_space', /No space left on device|Disk quota exceeded|Out of diskspace/],
  // A forge or a proxy in front of it limits the size of one push.
  [
    'too_large',
    /HTTP 413|error: 413|Request Entity Too Large|Payload Too Large|pack exceeds maximum allowed size|exceeds .{0,40}(size|file) limit|GH001:/i,
  ],
  [
    'rejected',
    /pre-receive hook declined|hook declined|protected branch|denyCurrentBranch|branch is currently checked out|GH\d{3}:/,
  ],
  [
    'contention',
    /cannot lock ref|failed to update ref|reference already exists|is at [0-9a-f]+ but expected|incorrect old value|Unable to create '.*\.lock'|failed to lock/,
  ],
  ['no_branch', /couldn't find remote ref|src refspec .* does not match/],
  [
    'auth',
    /Authentication failed|Permission denied|Permission to \S{1,300} denied|Unauthorized|could not read (Username|Password)|terminal prompts disabled|HTTP 40[13]|error: 40[13]|access denied|read-only|not allowed to push|Host key verification failed/i,
  ],
  [
    'unreachable',
    /Could not resolve|Connection (refused|timed out|reset|closed)|Could not read from remote|unable to access|does not appear to be a git repository|not found|hung up|Network is unreachable|No route to host|early EOF|RPC failed|unable to connect|No such file or directory/i,
  ],
  [
    'missing_object',
    /bad object|missing blob|unable to read|loose object .* is corrupt|Invalid object/i,
  ],
  ['not_a_repository', /not a git repository/],
];

/** Messages of git when the machine is out of resources, whatever the command. */
const NO_ROOM =
  /Out of memory|Cannot allocate memory|Too many open files|Resource temporarily unavailable|unable to create (a )?thread|cannot fork|unable to (start|fork)/i;

/**
 * Whether git's exit is an answer to its command: it is not when git was killed, was out of resources, or
 * gave up without output.
 *
 * @param code its exit code; null when a signal ended it
 */
export function isAnswer(code: number | null, stderr: string): boolean {
  return code !== null && !(code >= 128 && stderr.trim() === '') && !NO_ROOM.test(stderr);
}

/** The oldest git with all that is asked of it. */
export const OLDEST_GIT = '2.34';
/** Git's exit code for an option or a command that it does not know. */
const USAGE = 129;

/** Determines the failure from git's output and exit code; the only place that reads git's stderr. */
export function classify(output: string, code?: number | null): Failure {
  const kind = TABLE.find(([, pattern]) => pattern.test(output))?.[0] ?? 'other';
  const lock = /Unable to create '([^'\n]{1,300}\.lock)': File exists/.exec(output)?.[1];
  const said = summary(output);
  const reason =
    kind === 'rejected' && WANTS_SIGNED.test(output)
      ? `${UNSIGNED}: ${said}`
      : code === USAGE
        ? `this git does not know what it is asked (${said}); Crosstalk needs git ${OLDEST_GIT} or newer, see git --version`
        : said;
  return { kind, reason, ...(lock !== undefined && { lock }) };
}

/** Whether a push failed because the remote does not let this person push, which no further try changes. */
export function refusesPush(kind: FailureKind): boolean {
  return kind === 'auth' || kind === 'rejected';
}

/** Messages of forges that refuse unsigned commits. */
const WANTS_SIGNED =
  /(?:verified|valid) signature|must be signed|unsigned commit|not signed|signed commits/i;
const UNSIGNED =
  'the remote wants signed commits, and the commits of the bus are not: allow them for this branch there';

const TELLING =
  /^(fatal|error|ERROR|remote|ssh|!)|Permission denied|Host key|Connection |Could not resolve|--add safe\.directory /;

const MOST = 400;
/**
 * Characters kept of the start of a long output: a remote names the refusal at the start, and the reason
 * at the end.
 */
const FIRST = 150;

/**
 * Returns the relevant lines of git's output on one line: no hints except the one that is needed to
 * continue, no credentials, invisible characters escaped, and of more than 400 characters the start and the end.
 */
export function summary(output: string): string {
  const lines = withoutCredentials(output)
    .split('\n')
    .map((line) => line.trim().replaceAll('\t', ' '))
    .filter((line) => line !== '' && !/^(hint:|To |Done$|=)/.test(line));
  const telling = lines.filter((line) => TELLING.test(line));
  const text = escapeInvisible((telling.length > 0 ? telling : lines).join(' · '));
  return text.length > MOST ? `${text.slice(0, FIRST)} … ${text.slice(FIRST + 3 - MOST)}` : text;
}

/**
 * Removes user names and passwords from URLs, where the result must be the same as in 6.0.0; see
 * `credentials.ts`.
 */
export function redact(text: string): string {
  return text.replace(/(?<=\w:\/\/)[^/@\s]+@/g, '');
}
