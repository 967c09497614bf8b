import { spawn, type ChildProcessWithoutNullStreams, type ChildProcess } from 'node:child_process';
import { readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { CrosstalkError, hasCode } from '../../errors.ts';
import { isFull } from '../../folder.ts';
import { hasMet, noteDamage } from './damage.ts';
import { classify, isAnswer, OLDEST_GIT, type Failure } from './failure.ts';
import { gitEnvironment, KEEPING_MEMORY, secondsOf, type GitPlace } from './environment.ts';
import { TimeLimit, withoutSteps } from './time-limit.ts';
import { withPipes } from '../../with-pipes.ts';

/** The outcome of a git call: exit codes are results, and only a failed start is a case of its own. */
export type GitOutcome =
  | { ok: true; stdout: Buffer; stderr: string }
  | {
      ok: false;
      stdout: Buffer;
      stderr: string;
      failure: Failure;
      /** Null when git timed out, or ended in a way that is not an answer; see {@link isAnswer}. */
      code: number | null;
    };

export interface GitOptions {
  input?: string | Buffer;
  signal?: AbortSignal;
  /** Milliseconds until the process group is ended. */
  timeout?: number;
  /** Whether the call contacts the remote, which has another time limit. */
  network?: boolean;
  /** Whether git reports its progress: then the limit applies to each step; see {@link TimeLimit}. */
  progress?: boolean;
  /** Maximum bytes of output; beyond them git is ended, and the output until then is the result. */
  most?: number;
  env?: Record<string, string>;
}

const LOCAL_LIMIT = 60_000;
const NETWORK_LIMIT = 120_000;
/** Limits below which an http transfer is given up: bytes a second, and seconds for which it is slower. */
const LOW_SPEED = ['http.lowSpeedLimit=100', 'http.lowSpeedTime=20'];

/** Settings for every call: no automatic packing in between, no colour, no pager. */
const SETTINGS = [
  'gc.auto=0',
  'maintenance.auto=false',
  'core.quotePath=false',
  'advice.graftFileDeprecated=false',
  // Requirements of the user's own configuration for every push would block mail for ever.
  'push.gpgSign=false',
  'push.pushOption=',
  ...LOW_SPEED,
];

const BATCH_SSH = 'ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=10';

/**
 * Runs git for the bus. It never reads the configuration of the operator's clone, which a run may
 * have written (trust.md §1). The only place of the transport edge that starts a process.
 */
export class Git {
  /** The folder that errors name: the operator's clone. */
  readonly dir: string;
  readonly #cwd: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #networkLimit: number;
  readonly #localLimit: number;
  readonly #objects: string | undefined;
  #started = 0;
  #batchSsh = false;

  /**
   * @param dir the operator's clone, or the folder of a set-up command
   * @param place our own git directory; without one git works in `dir`
   */
  constructor(dir: string, environment: NodeJS.ProcessEnv, place?: GitPlace) {
    this.dir = dir;
    this.#environment = environment;
    this.#cwd = place?.gitDir ?? dir;
    this.#objects = place?.objectsDir;
    this.#networkLimit = secondsOf(environment['CROSSTALK_NETWORK_TIMEOUT']) ?? NETWORK_LIMIT;
    this.#localLimit = secondsOf(environment['CROSSTALK_GIT_TIMEOUT']) ?? LOCAL_LIMIT;
    this.#env = gitEnvironment(environment, place);
  }

  /** Returns a git for another folder, with the repository there. */
  elsewhere(dir: string): Git {
    return new Git(dir, this.#environment);
  }

  /**
   * Milliseconds in which an open git process has to answer: in a partial clone, reading an object may
   * take a fetch.
   */
  get patience(): number {
    return Math.max(this.#localLimit, this.#networkLimit);
  }

  /** Number of git processes started, which a tick reports as its cost. */
  get started(): number {
    return this.#started;
  }

  /** Switches ssh to its batch mode unless the user configured a command of their own. */
  useBatchSsh({ configured }: { configured: boolean }): void {
    if (
      !configured &&
      this.#env['GIT_SSH_COMMAND'] === undefined &&
      this.#env['GIT_SSH'] === undefined
    ) {
      this.#batchSsh = true;
      this.#env['GIT_SSH_COMMAND'] = BATCH_SSH;
    }
  }

  /**
   * Makes git's ssh calls share one connection, whose socket is in `folder`: a later call saves the time
   * to connect. This does nothing when the user configured an ssh command of their own.
   *
   * @param open whether to open the shared connection and keep it for a minute after each use; otherwise
   *   only an existing one is used
   */
  shareConnections(folder: string, open: boolean): void {
    if (!this.#batchSsh) return;
    const path = `'${join(folder, '%C').replaceAll("'", `'\\''`)}'`;
    const master = open ? '-o ControlMaster=auto -o ControlPersist=60' : '-o ControlMaster=no';
    this.#env['GIT_SSH_COMMAND'] = `${BATCH_SSH} ${master} -o ControlPath=${path}`;
  }

  /** Closes the connections that {@link shareConnections} has opened. */
  async closeConnections(folder: string): Promise<void> {
    for (const name of await readdir(folder).catch(() => [])) {
      if (!/^[0-9a-f]{40}$/.test(name)) continue;
      const options = ['-o', `ControlPath=${join(folder, name)}`, '-O', 'exit', 'unused'];
      const child = spawn('ssh', options, { env: this.#env, stdio: 'ignore' });
      await ended(child);
    }
    // The folder is removed only when it is empty otherwise.
    for (const path of [folder, dirname(folder)]) await rmdir(path).catch(() => undefined);
  }

  /** Runs one git command to its end. Rejects only when it is aborted. */
  async run(args: readonly string[], options: GitOptions = {}): Promise<GitOutcome> {
    const { signal, network = false, progress = false, most = Infinity } = options;
    throwIfAborted(signal);
    // A call that contacts a remote starts hooks, helpers and ssh, which may run for long.
    const env = { ...(network ? {} : KEEPING_MEMORY), ...this.#env, ...options.env };
    const child = this.#spawn(args, env);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      if (size > most) return;
      size += chunk.length;
      stdout.push(chunk);
      if (size > most) end(child);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr.push(chunk);
      time.heard(chunk);
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input);
    const limit = options.timeout ?? (network ? this.#networkLimit : this.#localLimit);
    const abort = end.bind(undefined, child);
    const time = new TimeLimit(limit, progress, abort);
    signal?.addEventListener('abort', abort, { once: true });
    const { code, startError } = await ended(child);
    time.over();
    signal?.removeEventListener('abort', abort);
    throwIfAborted(signal);
    const out = Buffer.concat(stdout);
    const said = Buffer.concat(stderr).toString('utf8');
    const err = progress ? withoutSteps(said) : said;
    if ((code === 0 || size > most) && !time.passed) return { ok: true, stdout: out, stderr: err };
    const failure: Failure = time.passed
      ? {
          kind: 'timed_out',
          reason: `git ${commandIn(args)} did not end within ${String(limit / 1000)} s`,
        }
      : startError === undefined
        ? this.#located(
            classify(`${err}\n${args.includes('--porcelain') ? out.toString('utf8') : ''}`, code),
          )
        : {
            kind: 'not_started',
            reason: `git could not be started: ${startError.message}${hasCode(startError, 'ENOENT') && existsSync(this.#cwd) ? `; install git ${OLDEST_GIT} or newer` : ''}`,
          };
    this.heard(err);
    removeLeftovers(this.#objects, said, time.begun);
    const answered = !time.passed && isAnswer(code, err);
    return { ok: false, stdout: out, stderr: err, failure, code: answered ? code : null };
  }

  /** Runs git as {@link run} does, for calls that fail only when something is broken. */
  async must(args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
    const outcome = await this.run(args, options);
    if (outcome.ok) return outcome.stdout;
    throw failed(this.dir, commandIn(args), outcome.failure);
  }

  /** The failure of a git that has no room on this machine; undefined while there is room. */
  get fullDisk(): Failure | undefined {
    const full = [this.#cwd, this.#objects ?? this.dir].find(isFull);
    if (full === undefined) return undefined;
    return { kind: 'no_space', reason: `the disk with ${full} is full: make room there` };
  }

  /** Adds the full disk to a failure for want of room on this machine: git may name any file, and no disk. */
  #located(failure: Failure): Failure {
    const full = failure.kind === 'no_space' ? this.fullDisk : undefined;
    return full === undefined ? failure : { ...full, reason: `${full.reason} (${failure.reason})` };
  }

  /** Records the output of a git that failed; see {@link noteDamage}. */
  heard(said: string): void {
    if (this.#cwd !== this.dir) noteDamage(this.#cwd, said);
  }
  /** Whether objects of the clone may be damaged or missing; see {@link hasMet}. */
  get hasMetDamage(): boolean {
    return this.#cwd !== this.dir && hasMet(this.#cwd);
  }

  /** Starts a git process that stays open, such as `cat-file --batch`. */
  open(args: readonly string[]): ChildProcessWithoutNullStreams {
    return this.#spawn(args, this.#env);
  }

  /**
   * Starts git in a process group of its own: ending an agent CLI with all its processes must not hit a
   * git in the middle of moving a ref, which would leave its lock behind for ever.
   */
  #spawn(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams {
    this.#started++;
    const settings = SETTINGS.flatMap((setting) => ['-c', setting]);
    return withPipes(
      spawn('git', [...settings, ...args], {
        cwd: this.#cwd,
        env,
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
      }),
    );
  }
}

/** Finds the command in git's arguments, which may start with settings. */
function commandIn(args: readonly string[]): string {
  return args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-c') ?? '';
}

/** Builds the error for a git command that should not have failed. */
export function failed(dir: string, command: string, { kind, reason }: Failure): CrosstalkError {
  const next =
    kind === 'not_started'
      ? 'see whether git is on the PATH, with: git --version'
      : `check the repository with: git -C ${dir} fsck`;
  return new CrosstalkError(
    'git_failed',
    `git ${command} failed in ${dir}: ${reason || 'no reason given'}; ${next}`,
    { data: { kind } },
  );
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new CrosstalkError('aborted', 'interrupted');
}

const KILL_AFTER_MS = 2000;

/** Waits until a process and its output have ended; `startError` is set when it could not be started. */
function ended(child: ChildProcess): Promise<{ code: number | null; startError?: Error }> {
  return new Promise((resolve) => {
    child.once('error', (startError) => {
      resolve({ code: null, startError });
    });
    child.once('close', (code) => {
      resolve({ code });
    });
  });
}

/** Ends a process group, so that ssh ends with git: TERM, on which git removes its lock files, then KILL. */
function end(child: ChildProcess): void {
  signal(child, 'SIGTERM');
  setTimeout(() => {
    if (child.exitCode === null && child.signalCode === null) signal(child, 'SIGKILL');
  }, KILL_AFTER_MS).unref();
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, name);
  } catch {
    // The process ended on its own in the meantime.
  }
}

/** Messages of git about a full disk. */
const NO_ROOM =
  /No space left on device|Disk quota exceeded|unable to write (?:loose object )?file/i;
/** Names that git gives to unfinished files. */
const UNFINISHED = /^(?:tmp_(?:obj|pack|idx|rev)_|\.tmp-)/;

/**
 * Removes the half-written files of a git that met a full disk: git does not remove them, and each
 * further try would fill more of the space that somebody frees. Files that another git is writing there
 * at the moment cannot be completed either.
 *
 * @param objectsDir of the repository it worked in; undefined for none of ours
 * @param said its output; nothing is removed unless it reports a full disk
 * @param since its start, in milliseconds since 1970
 */
function removeLeftovers(objectsDir: string | undefined, said: string, since: number): void {
  if (objectsDir === undefined || !NO_ROOM.test(said)) return;
  const folders = namesIn(objectsDir).filter((name) => /^(?:[0-9a-f]{2}|pack)$/.test(name));
  for (const folder of folders)
    for (const name of namesIn(join(objectsDir, folder)))
      if (UNFINISHED.test(name)) removeSince(join(objectsDir, folder, name), since);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function removeSince(path: string, since: number): void {
  try {
    // The clock of the file system is coarser than ours.
    if (statSync(path).mtimeMs >= since - 20) rmSync(path, { force: true });
  } catch {
    // The file is gone, or cannot be removed.
  }
}
