import { createHash } from 'node:crypto';
import { basename, extname, join } from 'node:path';
import { STATE_DATABASE } from '../store/store.ts';
import type { StateNames } from './place/private.ts';

/** Where each piece of a machine's own state is kept; none of it is ever committed. */
export interface StatePaths {
  root: string;
  /** Our own git directory for the clone. */
  git: string;
  /** What was recorded of the clone's git settings. */
  settings: string;
  /** The database of what this machine knows beside git. */
  database: string;
  /** Files that wait with messages. */
  outbox: string;
  /** What the database did not take of runs until their dispatcher had to end. */
  outcomes: string;
  /** What runs print and send, until their outcome is on record. */
  runs: string;
  /** What each run used, by month. */
  ledger: string;
  /** What runs printed; it may hold secrets. */
  transcripts: string;
  approvals: string;
  /** The keys by which this machine knows the words of names. */
  pins: string;
  heartbeat: string;
  /** The search index, derived from git. */
  index: string;
  sessions: string;
  /** Where the service's dispatcher writes its log; rotated, so there may be more beside it. */
  log: string;
  /** What agent CLIs get from the service; it may hold secrets. */
  serviceEnv: string;
  /** What a chat keeps. */
  chat: string;
  /** What was seen by whom. */
  seen: string;
  /** The `crosstalk` of runs, in agent mode (trust.md §3). */
  bin: string;
  /** The `crosstalk` of an operator's sessions. */
  sessionBin: string;
  /** Where runs work (trust.md §1). */
  work: string;
  /** The copies of repositories. */
  worktrees: string;
  /** The directories that belong to one run each (trust.md §3). */
  run: string;
  /**
   * The name by which the dispatcher's socket is known; `dispatcher/socket/ear.ts` says where it
   * is.
   */
  socket: string;
  /** For the sockets of shared ssh connections. */
  connections: string;
}

/** Room for what ssh adds: /ssh/, a digest of 40 characters, and 17 while it makes the socket. */
const MAX_CONNECTION_FOLDER = 40;

/** Names of what is kept there by modules that know the state directory alone. */
const OTHER_NAMES = [
  ...['clone.json', 'host-file.md', 'state.key'],
  ...['web.html', 'profiles', 'sandbox', 'secrets'],
];
/** Names of what 6.0.0 kept there, besides. */
const EARLIER_NAMES = ['cursors.json', 'dead-letters', 'git-listing.json'];
/** The state directories of other clones, for which this one was given too. */
const CLONES = 'clones';

/** Where all of it is below a state directory. */
export function statePaths(root: string): StatePaths {
  return {
    root,
    git: join(root, 'git'),
    settings: join(root, 'git-settings.json'),
    database: join(root, STATE_DATABASE),
    outbox: join(root, 'outbox'),
    outcomes: join(root, 'outcomes'),
    runs: join(root, 'runs'),
    ledger: join(root, 'ledger'),
    transcripts: join(root, 'transcripts'),
    approvals: join(root, 'approvals.json'),
    pins: join(root, 'pins.json'),
    heartbeat: join(root, 'heartbeat.json'),
    index: join(root, 'index.db'),
    sessions: join(root, 'sessions'),
    log: join(root, 'log', 'dispatcher.jsonl'),
    serviceEnv: join(root, 'service.env'),
    chat: join(root, 'chat.json'),
    seen: join(root, 'seen.json'),
    bin: join(root, 'bin'),
    sessionBin: join(root, 'session-bin'),
    work: join(root, 'work'),
    worktrees: join(root, 'worktrees'),
    run: join(root, 'run'),
    // Worked out by whoever asks for it: a command that hands its message over need not hash.
    get connections() {
      return Buffer.byteLength(root) <= MAX_CONNECTION_FOLDER
        ? join(root, 'ssh')
        : join(shortFolder('/tmp', root), 'ssh');
    },
    socket: join(root, 'wake.sock'),
  };
}

/**
 * What a state directory holds, and nothing else: what has no extension is a folder. This is the only list of
 * it.
 */
export function namesOf({
  root,
  work,
  worktrees,
  run,
  connections,
  ...paths
}: StatePaths): StateNames {
  const own = Object.values(paths).map(
    (path) => path.slice(root.length + 1).split('/', 1)[0] ?? '',
  );
  const names = [...own, ...OTHER_NAMES, ...EARLIER_NAMES];
  const shared = [CLONES, ...[work, worktrees, run, connections].map((path) => basename(path))];
  return {
    files: names.filter((name) => extname(name) !== ''),
    full: names.filter((name) => extname(name) === ''),
    shared,
  };
}

/** The folder of a state directory in another one, with a short path. */
export function shortFolder(parent: string, root: string): string {
  const digest = createHash('sha256').update(root).digest('hex').slice(0, 16);
  return join(parent, `crosstalk-${String(process.getuid?.() ?? 0)}-${digest}`);
}
