import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { withoutInherited } from './inherited.ts';
import { RawOutput } from './raw-output.ts';
import { afterRunning } from './running-time.ts';
import type { InvocationResult, Prompt, Runner, RunningCli, Start } from './runner.ts';

const STDERR_TAIL = 16 * 1024;
/**
 * Waits for a line on stdin, which is the permission to go on, before it becomes the command. If we end
 * before the run is on record, the pipe is closed, and nothing runs that is not on record.
 */
const GATE = 'IFS= read -r go || exit 125; exec "$@"';
/**
 * Milliseconds for which pipes that a grandchild keeps open may delay the result after the CLI has
 * ended.
 */
const DRAIN_MS = 250;
/** Milliseconds between TERM and KILL for a CLI that is cancelled before its first prompt. */
const USUAL_GRACE_MS = 5000;

/** Runs each prompt in a process of its own: `/bin/sh -c` in a new process group, the prompt on stdin. */
export const processRunner: Runner = { start: (start) => new CliProcess(start) };

class CliProcess implements RunningCli {
  readonly #begun = performance.now();
  readonly #child: ReturnType<typeof spawnGated>;
  readonly #ending: Promise<End>;
  readonly #flags = { timedOut: false, aborted: false, tooMuchOutput: false };
  #grace = USUAL_GRACE_MS;

  constructor(start: Start) {
    this.#child = spawnGated(start);
    this.#ending = ended(this.#child);
    this.#child.stdin.on('error', () => undefined); // The CLI may close its stdin early.
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async prompt({
    input,
    timeout,
    grace,
    maxOutput,
    raw: target,
    hear,
    idle,
  }: Prompt): Promise<InvocationResult> {
    this.#grace = grace;
    const child = this.#child;
    const exceeded = (): void => {
      this.#stop('tooMuchOutput');
    };
    const raw = target && new RawOutput(target);
    const stdout =
      raw === undefined
        ? collect(child.stdout, maxOutput, exceeded)
        : keep(child.stdout, raw, exceeded);
    const stderr = tail(child.stderr, STDERR_TAIL);
    if (hear !== undefined) {
      child.stdout.on('data', (bytes: Buffer) => {
        hear('out', bytes);
      });
      child.stderr.on('data', (bytes: Buffer) => {
        hear('err', bytes);
      });
    }
    const cancelTimeout = afterRunning(
      timeout,
      () => {
        this.#stop('timedOut');
      },
      idle,
    );
    try {
      child.stdin.end(`\n${input}`);
      const { exitCode, signal, startError } = await this.#ending;
      killGroup(child, 'SIGKILL');
      await Promise.race([closed(child), sleep(DRAIN_MS, undefined, { ref: false })]);
      return {
        exitCode,
        signal,
        stdout: stdout(),
        stderrTail: stderr(),
        ...(raw && { raw }),
        ...(startError === undefined ? {} : { startError }),
        ...this.#flags,
        duration: Math.round(performance.now() - this.#begun),
      };
    } finally {
      cancelTimeout();
      raw?.close();
    }
  }

  cancel(): void {
    this.#stop('aborted');
  }

  end(): void {
    killGroup(this.#child, 'SIGKILL');
    for (const stream of this.#child.stdio) stream?.destroy();
  }

  #stop(flag: 'timedOut' | 'aborted' | 'tooMuchOutput'): void {
    const flags = this.#flags;
    if (flags.timedOut || flags.aborted || flags.tooMuchOutput) return;
    flags[flag] = true;
    void endGroup(this.#child, this.#grace, this.#ending);
  }
}

function spawnGated({ command, cwd, env, wrap = [] }: Start) {
  const words = ['-c', GATE, 'sh', ...wrap, '/bin/sh', '-c', command];
  const begin = (rest: readonly (number | 'ignore')[]) =>
    spawn('/bin/sh', words, {
      ...{ cwd, env, detached: true },
      stdio: ['pipe', 'pipe', 'pipe', ...rest],
    }) as ChildProcessWithoutNullStreams;
  return wrap.length === 0 ? begin([]) : withoutInherited(begin);
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

/** Keeps everything in a file; nothing is left for the result. */
function keep(stream: NodeJS.ReadableStream, raw: RawOutput, exceeded: () => void): () => string {
  const take = (chunk: Buffer): void => {
    if (raw.add(chunk)) exceeded();
  };
  stream.on('data', take);
  stream.on('error', () => undefined);
  return () => {
    // What comes after the result was made is nobody's.
    stream.off('data', take);
    return '';
  };
}

function tail(stream: NodeJS.ReadableStream, keep: number): () => string {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-keep);
  });
  stream.on('error', () => undefined);
  return () => kept.toString('utf8');
}
