import { createHash } from 'node:crypto';
import { basename, extname, join } from 'node:path';
import { STATE_DATABASE } from '../store/store.ts';
import type { StateNames } from './place/private.ts';

/** The paths of a machine's own state; none of it is ever committed. */
export interface StatePaths {
  root: string;
  /** Our own git directory for the clone. */
  git: string;
  /** The record of the clone's git settings. */
  settings: string;
  /** The database of everything that this machine knows outside git. */
  database: string;
  /** Attached files of waiting messages. */
  outbox: string;
  /** Outcomes of runs that the database did not accept before their dispatcher had to end. */
  outcomes: string;
  /** Output and sent messages of runs, until their outcome is on record. */
  runs: string;
  /** The usage of each run, by month. */
  ledger: string;
  /** The output of runs; it may contain secrets. */
  transcripts: string;
  approvals: string;
  /** The keys by which this machine verifies the messages of names. */
  pins: string;
  heartbeat: string;
  /** The search index, derived from git. */
  index: string;
  sessions: string;
  /** The log of the service's dispatcher; it is rotated, so there may be more files next to it. */
  log: string;
  /** The environment that agent CLIs receive from the service; it may contain secrets. */
  serviceEnv: string;
  /** The state of a chat. */
  chat: string;
  /** The record of the messages that people have seen. */
  seen: string;
  /** The `crosstalk` of runs, in agent mode (trust.md §3). */
  bin: string;
  /** The `crosstalk` of an operator's sessions. */
  sessionBin: string;
  /** The folders in which runs work (trust.md §1). */
  work: string;
  /** The copies of repositories. */
  worktrees: string;
  /** The directories that belong to one run each (trust.md §3). */
  run: string;
  /** The name of the dispatcher's socket; `dispatcher/socket/ear.ts` determines its path. */
  socket: string;
  /** The sockets of shared ssh connections. */
  connections: string;
}

/**
 * Maximum length of the path, with room for the part that ssh adds: /ssh/, a digest of 40 characters, and
 * 17 while it makes the socket.
 */
const MAX_CONNECTION_FOLDER = 40;

/** Names of files and folders of modules that know only the state directory. */
const OTHER_NAMES = [
  ...['clone.json', 'host-file.md', 'state.key'],
  ...['web.html', 'profiles', 'sandbox', 'secrets'],
];
/** Names of further files and folders of 6.0.0. */
const EARLIER_NAMES = ['cursors.json', 'dead-letters', 'git-listing.json'];
/** The state directories of other clones for which this one was given too. */
const CLONES = 'clones';

/** Returns all paths below a state directory. */
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
    // Computed on demand: a command that delegates its message need not hash.
    get connections() {
      return Buffer.byteLength(root) <= MAX_CONNECTION_FOLDER
        ? join(root, 'ssh')
        : join(shortFolder('/tmp', root), 'ssh');
    },
    socket: join(root, 'wake.sock'),
  };
}

/**
 * Returns the complete list of names in a state directory; a name without extension is a folder. This is
 * the only such list.
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

/** Returns the folder of a state directory in another one, with a short path. */
export function shortFolder(parent: string, root: string): string {
  const digest = createHash('sha256').update(root).digest('hex').slice(0, 16);
  return join(parent, `crosstalk-${String(process.getuid?.() ?? 0)}-${digest}`);
}
