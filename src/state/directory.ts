import { createHash } from 'node:crypto';
import { access, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import {
  assertOurs,
  claim,
  clear,
  cloneId,
  isTaken,
  readId,
  startedOf,
  type Started,
} from './clone-id.ts';
import { foreignHand, tighten } from './private.ts';
import type { CloneFolder } from './registry.ts';

/** Where each piece of a machine's own state is kept; none of it is ever committed. */
export interface StatePaths {
  root: string;
  /** Our own git directory for the clone. */
  git: string;
  /** What was recorded of the clone's git settings. */
  settings: string;
  cursors: string;
  /** Deliveries that were met with silence. */
  silences: string;
  /** Deliveries during which the dispatcher died. */
  interruptions: string;
  /** Messages that were on the bus and no longer are. */
  departed: string;
  outbox: string;
  deadLetters: string;
  /** Dead letters of which askers are still to be told. */
  notices: string;
  runs: string;
  /** What each run used, by month. */
  ledger: string;
  /** What runs printed; it may hold secrets. */
  transcripts: string;
  approvals: string;
  /** The keys by which this machine knows the words of names. */
  pins: string;
  /** What was verified by them before. */
  verdicts: string;
  /** Questions for permission that runs wait for. */
  permissions: string;
  /** Messages that this machine has written. */
  written: string;
  /** Decisions that people have made on this machine. */
  decided: string;
  pause: string;
  runBudget: string;
  /** Mail that waits for somebody to approve a plan. */
  gates: string;
  /** Mail that waits for a budget of money or tokens. */
  budgetHolds: string;
  /** Whose mail passes although a budget is spent. */
  budgetPasses: string;
  /** Agent CLIs that refuse to work just now. */
  holds: string;
  heartbeat: string;
  /** The search index, derived from git. */
  index: string;
  sessions: string;
  /** Sessions of agent CLIs that runs go on with. */
  agentSessions: string;
  /** Processes of agent CLIs that are kept between runs. */
  warmSessions: string;
  /** Where the service's dispatcher writes its log; rotated, so there may be more beside it. */
  log: string;
  /** What agent CLIs get from the service; it may hold secrets. */
  serviceEnv: string;
  /** What a chat keeps. */
  chat: string;
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

function statePaths(root: string): StatePaths {
  return {
    root,
    git: join(root, 'git'),
    settings: join(root, 'git-settings.json'),
    cursors: join(root, 'cursors.json'),
    silences: join(root, 'silences.jsonl'),
    interruptions: join(root, 'interruptions.json'),
    departed: join(root, 'departed.jsonl'),
    outbox: join(root, 'outbox'),
    deadLetters: join(root, 'dead-letters'),
    notices: join(root, 'notices'),
    runs: join(root, 'runs'),
    ledger: join(root, 'ledger'),
    transcripts: join(root, 'transcripts'),
    approvals: join(root, 'approvals.json'),
    pins: join(root, 'pins.json'),
    verdicts: join(root, 'verdicts.jsonl'),
    permissions: join(root, 'permissions'),
    written: join(root, 'written.jsonl'),
    decided: join(root, 'decided.jsonl'),
    pause: join(root, 'paused.json'),
    runBudget: join(root, 'run-budget.json'),
    gates: join(root, 'gates'),
    budgetHolds: join(root, 'budget-holds.json'),
    budgetPasses: join(root, 'budget-passes.json'),
    holds: join(root, 'holds.json'),
    heartbeat: join(root, 'heartbeat.json'),
    index: join(root, 'index.db'),
    sessions: join(root, 'sessions'),
    agentSessions: join(root, 'agent-sessions'),
    warmSessions: join(root, 'warm-sessions'),
    log: join(root, 'log', 'dispatcher.jsonl'),
    serviceEnv: join(root, 'service.env'),
    chat: join(root, 'chat.json'),
    bin: join(root, 'bin'),
    sessionBin: join(root, 'session-bin'),
    work: join(root, 'work'),
    worktrees: join(root, 'worktrees'),
    run: join(root, 'run'),
    connections:
      Buffer.byteLength(root) <= MAX_CONNECTION_FOLDER
        ? join(root, 'ssh')
        : join(shortFolder('/tmp', root), 'ssh'),
    socket: join(root, 'wake.sock'),
  };
}

/** A folder with a short path, for sockets. */
function shortFolder(parent: string, root: string): string {
  const digest = createHash('sha256').update(root).digest('hex').slice(0, 16);
  return join(parent, `crosstalk-${String(process.getuid?.() ?? 0)}-${digest}`);
}

/**
 * Whether a folder below one that anybody may write to belongs to us alone, and not to somebody who
 * made it first.
 *
 * @param options `make`: makes the folder
 */
export async function isPrivate(folder: string, { make }: { make: boolean }): Promise<boolean> {
  for (const path of [dirname(folder), folder]) {
    if (make) await makeFolder(path, 0o700).catch(() => undefined);
    const isThere = await exists(path);
    if (!isThere || (await foreignHand(path, 'folder')) !== undefined) return false;
  }
  return true;
}

/**
 * Where a dispatcher would listen for the transport at a folder, and where its outbox would be; nothing
 * is made or moved. Undefined where this needs a closer look.
 */
export async function likelyState(
  environment: NodeJS.ProcessEnv,
  dir: string,
): Promise<Pick<StatePaths, 'socket' | 'outbox'> | undefined> {
  const given = environment['CROSSTALK_STATE_DIR'] ?? '';
  if (given !== '') return statePaths(resolve(given));
  const id = await readId(join(dir, '.git'));
  return id === undefined ? undefined : statePaths(join(stateHome(environment), id));
}

/** The folder of all transports' state. */
export function stateHome(environment: NodeJS.ProcessEnv): string {
  const base = environment['XDG_STATE_HOME'] ?? '';
  const home = environment['HOME'] ?? homedir();
  return join(base === '' ? join(home, '.local', 'state') : base, 'crosstalk');
}

/** A clone's state directory. */
export interface CloneState {
  paths: StatePaths;
  started: Started;
}

/**
 * The state directory of a clone: `$CROSSTALK_STATE_DIR`, else below
 * `${XDG_STATE_HOME:-~/.local/state}/crosstalk` by the clone's id (trust.md §2).
 *
 * @param names what a state of 6.0.0 may be called, the likeliest first
 */
export async function stateDirectory(
  environment: NodeJS.ProcessEnv,
  clone: CloneFolder,
  names: () => Promise<string[]>,
): Promise<CloneState> {
  const home = stateHome(environment);
  const given = environment['CROSSTALK_STATE_DIR'] ?? '';
  const stateOf = (id: string): string => (given === '' ? join(home, id) : resolve(given));
  const { id, isNew } = await cloneId(home, clone, stateOf, names);
  const paths = await create(given === '' ? stateOf(id) : await inGiven(given, clone, id));
  if (given !== '') await assertOurs(paths.root, paths);
  if (isNew) await clear(paths.root, paths, clone);
  await claim(paths.root, clone);
  return { paths, started: await startedOf(home, clone, stateOf(id)) };
}

/** Removes what was recorded of a clone, and our own git directory for it. */
export async function forgetClone({ git, settings }: StatePaths): Promise<void> {
  await rm(git, { recursive: true, force: true });
  await rm(settings, { force: true });
}

/** A directory that was given belongs to the first clone that used it; others get a folder in it. */
async function inGiven(given: string, clone: CloneFolder, id: string): Promise<string> {
  const root = resolve(given);
  return (await isTaken(root, clone)) ? join(root, 'clones', id) : root;
}

async function create(root: string): Promise<StatePaths> {
  try {
    await makeFolder(root, 0o700);
  } catch (error) {
    throw new CrosstalkError(
      'refused',
      `cannot make the state directory ${root}: ${reasonOf(error)}; give another with CROSSTALK_STATE_DIR`,
      { cause: error },
    );
  }
  await tighten(root);
  return statePaths(root);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
