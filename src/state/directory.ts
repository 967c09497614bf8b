import { createHash } from 'node:crypto';
import { lstat, mkdir, rename, stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { holderOf } from './lock.ts';

/** Where each piece of a machine's own state lives; nothing of it is ever committed. */
export interface StatePaths {
  root: string;
  cursors: string;
  outbox: string;
  deadLetters: string;
  runs: string;
  approvals: string;
  pause: string;
  runBudget: string;
  /** Agent CLIs that refuse to work just now. */
  holds: string;
  heartbeat: string;
  /** The search index, derived from git. */
  index: string;
  sessions: string;
  /** Where the service's dispatcher writes its log; rotated, so there may be more beside it. */
  log: string;
  /** What agent CLIs get from the service: secrets. */
  serviceEnv: string;
  /** What a chat keeps. */
  chat: string;
  /** The `crosstalk` of runs, in agent mode (trust.md §3). */
  bin: string;
  /** The `crosstalk` of an operator's sessions. */
  sessionBin: string;
  /** Where runs work (trust.md §1). */
  work: string;
  /** What runs have for themselves (trust.md §3). */
  run: string;
  socket: string;
  /** For the sockets of shared ssh connections. */
  connections: string;
}

/** A unix socket's path may not be longer than this everywhere. */
const MAX_SOCKET_PATH = 100;
/** Room for what ssh adds: /ssh/, a digest of 40 characters, and 17 while it makes the socket. */
const MAX_CONNECTION_FOLDER = 40;

function statePaths(root: string): StatePaths {
  const socket = join(root, 'wake.sock');
  return {
    root,
    cursors: join(root, 'cursors.json'),
    outbox: join(root, 'outbox'),
    deadLetters: join(root, 'dead-letters'),
    runs: join(root, 'runs'),
    approvals: join(root, 'approvals.json'),
    pause: join(root, 'paused.json'),
    runBudget: join(root, 'run-budget.json'),
    holds: join(root, 'holds.json'),
    heartbeat: join(root, 'heartbeat.json'),
    index: join(root, 'index.db'),
    sessions: join(root, 'sessions'),
    log: join(root, 'log', 'dispatcher.jsonl'),
    serviceEnv: join(root, 'service.env'),
    chat: join(root, 'chat.json'),
    bin: join(root, 'bin'),
    sessionBin: join(root, 'session-bin'),
    work: join(root, 'work'),
    run: join(root, 'run'),
    connections:
      Buffer.byteLength(root) <= MAX_CONNECTION_FOLDER
        ? join(root, 'ssh')
        : join(shortFolder('/tmp', root), 'ssh'),
    socket:
      Buffer.byteLength(socket) <= MAX_SOCKET_PATH
        ? socket
        : join(shortFolder(tmpdir(), root), 'wake.sock'),
  };
}

/** A folder with a short path, for sockets. */
function shortFolder(parent: string, root: string): string {
  const digest = createHash('sha256').update(root).digest('hex').slice(0, 16);
  return join(parent, `crosstalk-${String(process.getuid?.() ?? 0)}-${digest}`);
}

/**
 * Whether a folder below one that anybody may write to is ours alone, and not somebody's who was
 * there before.
 *
 * @param make makes it
 */
export async function isPrivate(folder: string, make: boolean): Promise<boolean> {
  for (const path of [dirname(folder), folder]) {
    if (make) await mkdir(path, { recursive: true, mode: 0o700 }).catch(() => undefined);
    const found = await lstat(path).catch(() => undefined);
    const ours = found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
    if (!ours || (found.mode & 0o077) !== 0) return false;
  }
  return true;
}

/** Where a dispatcher would listen for a transport of this id; nothing is made or moved. */
export function likelySocket(environment: NodeJS.ProcessEnv, transportId: string): string {
  const given = environment['CROSSTALK_STATE_DIR'] ?? '';
  return statePaths(given === '' ? join(stateHome(environment), transportId) : resolve(given))
    .socket;
}

/** The folder of all transports' state. */
export function stateHome(environment: NodeJS.ProcessEnv): string {
  const base = environment['XDG_STATE_HOME'] ?? '';
  const home = environment['HOME'] ?? homedir();
  return join(base === '' ? join(home, '.local', 'state') : base, 'crosstalk');
}

/**
 * The state directory of a transport: `$CROSSTALK_STATE_DIR`, else below
 * `${XDG_STATE_HOME:-~/.local/state}/crosstalk` by transport id (protocol.md §1). State gathered
 * before the transport had an origin is taken along, unless a dispatcher is using it just now.
 */
export async function stateDirectory(
  environment: NodeJS.ProcessEnv,
  transport: { id: string; soloId: string },
): Promise<StatePaths> {
  const given = environment['CROSSTALK_STATE_DIR'];
  if (given !== undefined && given !== '') return create(resolve(given));
  const parent = stateHome(environment);
  const root = join(parent, transport.id);
  const solo = join(parent, transport.soloId);
  if (root !== solo && !(await exists(root)) && (await exists(solo))) {
    if ((await holderOf(solo, 'dispatcher')) !== undefined) return create(solo);
    await rename(solo, root);
  }
  return create(root);
}

async function create(root: string): Promise<StatePaths> {
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CrosstalkError(
      'refused',
      `cannot make the state directory ${root}: ${reasonOf(error)}; give another with CROSSTALK_STATE_DIR`,
      { cause: error },
    );
  }
  return statePaths(root);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
