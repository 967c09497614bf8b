import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Invocation {
  /** Run by `/bin/sh -c` in its own process group. */
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Passed to stdin; the text of messages reaches the CLI in no other way (cli.md). */
  input: string;
  /** The longest time of the run, in milliseconds. */
  timeout: number;
  /** Milliseconds between SIGTERM and SIGKILL. */
  grace: number;
  /** The most bytes of stdout; more end the run. */
  maxOutput: number;
  /** Ends the run like a timeout, but the result is `aborted`. */
  signal: AbortSignal;
  /** Called once the process exists. */
  onStart: (pid: number) => Promise<void>;
}

/** The result of a run; success and failure have the same fields, and booleans say what happened. */
export interface InvocationResult {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Decoded as UTF-8, invalid bytes replaced. */
  stdout: string;
  stderrTail: string;
  startError?: string;
  timedOut: boolean;
  aborted: boolean;
  tooMuchOutput: boolean;
  /** The duration of the run in milliseconds. */
  duration: number;
}

const STDERR_TAIL = 16 * 1024;
/**
 * Waits for a line on stdin, the permission to start, before it becomes the command. If this
 * process dies before it has recorded the run, the pipe closes, and no unrecorded command has run.
 */
const GATE = 'IFS= read -r go || exit 125; exec /bin/sh -c "$1"';
/**
 * Milliseconds for which pipes that a grandchild keeps open may delay the result after the CLI has
 * ended.
 */
const DRAIN_MS = 250;

/** Runs a CLI until it ends, or ends it. No process of its process group outlives the call. */
export async function invoke(invocation: Invocation): Promise<InvocationResult> {
  const begun = performance.now();
  const child = spawn('/bin/sh', ['-c', GATE, 'sh', invocation.command], {
    cwd: invocation.cwd,
    env: invocation.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const ending = ended(child);
  const flags = { timedOut: false, aborted: false, tooMuchOutput: false };
  const stop = (flag: keyof typeof flags): void => {
    if (flags.timedOut || flags.aborted || flags.tooMuchOutput) return;
    flags[flag] = true;
    void endGroup(child, invocation.grace, ending);
  };
  const stdout = collect(child.stdout, invocation.maxOutput, () => {
    stop('tooMuchOutput');
  });
  const stderr = tail(child.stderr, STDERR_TAIL);
  child.stdin.on('error', () => undefined); // The CLI may close its stdin early.
  const abort = (): void => {
    stop('aborted');
  };
  const cancel = afterRunning(invocation.timeout, () => {
    stop('timedOut');
  });
  invocation.signal.addEventListener('abort', abort, { once: true });
  try {
    if (child.pid !== undefined) await invocation.onStart(child.pid);
    if (invocation.signal.aborted) abort();
    child.stdin.end(`\n${invocation.input}`);
    const { exitCode, signal, startError } = await ending;
    killGroup(child, 'SIGKILL');
    await Promise.race([closed(child), sleep(DRAIN_MS, undefined, { ref: false })]);
    return {
      exitCode,
      signal,
      stdout: stdout(),
      stderrTail: stderr(),
      ...(startError === undefined ? {} : { startError }),
      ...flags,
      duration: Math.round(performance.now() - begun),
    };
  } finally {
    cancel();
    invocation.signal.removeEventListener('abort', abort);
    killGroup(child, 'SIGKILL');
    for (const stream of child.stdio) stream?.destroy();
  }
}

/** The step in which running time is counted, in milliseconds. */
const STEP_MS = 5000;
/**
 * A timer that is this late means that the machine slept or this process was stopped, and it is
 * unknown how much of that time the CLI had.
 */
const LATE_MS = 1000;

/**
 * Calls back once this process has been running for a time. The time in which a laptop slept, or
 * this process was stopped, does not count: a CLI that ended meanwhile is noticed before its time
 * is declared over.
 *
 * @param limit milliseconds
 * @returns a function that cancels the call
 */
function afterRunning(limit: number, done: () => void): () => void {
  let left = limit;
  let timer: NodeJS.Timeout;
  const next = (): void => {
    const step = Math.min(left, STEP_MS);
    const begun = performance.now();
    timer = setTimeout(() => {
      const isLate = performance.now() - begun > step + LATE_MS;
      left -= isLate ? step / 2 : step;
      if (left <= 1) done();
      else next();
    }, step);
  };
  next();
  return () => {
    clearTimeout(timer);
  };
}

interface End {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  startError?: string;
}

function ended(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ exitCode: null, signal: null, startError: error.message });
    });
    child.once('exit', (exitCode, signal) => {
      resolve({ exitCode, signal });
    });
  });
}

function closed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.stdout?.closed === true && child.stderr?.closed === true) resolve();
    else
      child.once('close', () => {
        resolve();
      });
  });
}

/** Sends SIGTERM, waits for the grace period, then sends SIGKILL. */
async function endGroup(
  child: ChildProcess,
  grace: number,
  ending: Promise<unknown>,
): Promise<void> {
  killGroup(child, 'SIGTERM');
  await Promise.race([ending, sleep(grace, undefined, { ref: false })]);
  killGroup(child, 'SIGKILL');
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) endProcessGroup(child.pid, signal);
}

/** Signals a whole process group; it may have ended already. */
export function endProcessGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: no process of the group is left.
  }
}

/** Keeps up to `cap` bytes and reports when there are more; memory never exceeds the cap. */
function collect(stream: NodeJS.ReadableStream, cap: number, exceeded: () => void): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size + chunk.length > cap) exceeded();
    else chunks.push(chunk);
    size += chunk.length;
  });
  stream.on('error', () => undefined);
  return () => Buffer.concat(chunks).toString('utf8');
}

function tail(stream: NodeJS.ReadableStream, keep: number): () => string {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-keep);
  });
  stream.on('error', () => undefined);
  return () => kept.toString('utf8');
}
