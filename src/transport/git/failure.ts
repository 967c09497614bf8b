import { withoutCredentials } from '../../credentials.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';

/** Why a git call did not do what was asked, as far as cases must be told apart. */
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

/** The kind that another process names; `other` for a word that we do not know. */
export function failureKind(text: string): FailureKind {
  return KINDS.find((kind) => kind === text) ?? 'other';
}

export interface Failure {
  kind: FailureKind;
  /** What git said, on one line, without credentials, and with escapes for what is not drawn. */
  reason: string;
  /** The lock that was in git's way, as it was named. */
  lock?: string;
  /** The commit at which another bus stands in the place of this one. */
  commit?: string;
}

/** Checked in order against stderr and the porcelain lines of push; git runs with LC_ALL=C. */
const TABLE: readonly (readonly [FailureKind, RegExp])[] = [
  ['behind', /\[rejected\]|non-fast-forward|fetch first|stale info/],
  ['no_space', /No space left on device|Disk quota exceeded|Out of diskspace/],
  // A forge or a proxy in front of it limits how much one push may bring.
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
    /Authentication failed|Permission denied|could not read (Username|Password)|terminal prompts disabled|HTTP 40[13]|error: 40[13]|access denied|read-only|not allowed to push|Host key verification failed/i,
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

/** What git says when the machine has no room for it, whatever it was asked. */
const NO_ROOM =
  /Out of memory|Cannot allocate memory|Too many open files|Resource temporarily unavailable|unable to create (a )?thread|cannot fork|unable to (start|fork)/i;

/**
 * Whether the way in which git ended is an answer to what it was asked: it is not when git was
 * killed, had no room to work, or gave up without a word.
 *
 * @param code its exit code; null when a signal ended it
 */
export function isAnswer(code: number | null, stderr: string): boolean {
  return code !== null && !(code >= 128 && stderr.trim() === '') && !NO_ROOM.test(stderr);
}

/** Names the failure behind what git printed; the one place that reads git's stderr. */
export function classify(output: string): Failure {
  const kind = TABLE.find(([, pattern]) => pattern.test(output))?.[0] ?? 'other';
  const lock = /Unable to create '([^'\n]{1,300}\.lock)': File exists/.exec(output)?.[1];
  const said = summary(output);
  const reason = kind === 'rejected' && WANTS_SIGNED.test(output) ? `${UNSIGNED}: ${said}` : said;
  return { kind, reason, ...(lock !== undefined && { lock }) };
}

/** How forges refuse commits that nobody has signed. */
const WANTS_SIGNED =
  /(?:verified|valid) signature|must be signed|unsigned commit|not signed|signed commits/i;
const UNSIGNED =
  'the remote wants signed commits, and the commits of the bus are not: allow them for this branch there';

const TELLING =
  /^(fatal|error|remote|ssh|!)|Permission denied|Host key|Connection |Could not resolve|--add safe\.directory /;

const MOST = 400;
/** Of what is longer: a remote says at the beginning what it refuses, and at the end why. */
const FIRST = 150;

/**
 * The telling lines of git's output on one line: no hints but the one without which nothing goes on, no
 * credentials, escapes for what is not drawn, and of more than 400 characters the beginning and the end.
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
 * Removes user names and passwords from URLs, where the result must stay as 6.0.0 made it; see
 * `credentials.ts`.
 */
export function redact(text: string): string {
  return text.replace(/(?<=\w:\/\/)[^/@\s]+@/g, '');
}
