import { setTimeout as sleep } from 'node:timers/promises';
import {
  closed,
  ended,
  endGroup,
  killGroup,
  spawnGated,
  STDERR_TAIL,
  tail,
  type End,
} from './gated.ts';
import { RawOutput } from './raw-output.ts';
import type { InvocationResult, Prompt, Runner, RunningCli, Start } from './runner.ts';

/** Milliseconds for which pipes that a grandchild holds open may delay the result after the CLI has ended. */
const DRAIN_MS = 250;
/** Milliseconds between TERM and KILL for a CLI that is cancelled before its first prompt. */
const USUAL_GRACE_MS = 5000;

/** A runner of each prompt in a separate process: `/bin/sh -c` in a new process group, the prompt on stdin. */
export const processRunner: Runner = { start: (start) => new CliProcess(start) };

class CliProcess implements RunningCli {
  readonly isOpen = false;
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

  fail(): void {
    // Nothing watches a process for one prompt, so no reason is reported.
    this.end();
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

/** Collects up to `cap` bytes and reports when there are more; memory never exceeds the cap. */
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

/** Writes everything to a file; the result has none of it. */
function keep(stream: NodeJS.ReadableStream, raw: RawOutput, exceeded: () => void): () => string {
  const take = (chunk: Buffer): void => {
    if (raw.add(chunk)) exceeded();
  };
  stream.on('data', take);
  stream.on('error', () => undefined);
  return () => {
    // Output after the result was made is discarded.
    stream.off('data', take);
    return '';
  };
}

/** Milliseconds of a step in which running time is counted. */
const STEP_MS = 5000;
/**
 * Milliseconds of delay after which a timer means that the machine slept or this process was stopped; it is
 * unknown how much of that time the CLI had.
 */
const LATE_MS = 1000;
/** Shortest step, in milliseconds, if the CLI may be waiting: its time could be almost over for as long as it waits. */
const SHORTEST_MS = 50;

/**
 * Calls back once this process has been running for a time. Time during which a laptop slept, or this process was
 * stopped, does not count: a CLI that ended in the meantime is noticed before its time is declared over.
 *
 * @param limit milliseconds
 * @param idle milliseconds until now that do not count either, because the CLI waited for a person
 * @returns a function that cancels the call
 */
export function afterRunning(limit: number, done: () => void, idle?: () => number): () => void {
  let left = limit;
  let timer: NodeJS.Timeout;
  const next = (): void => {
    const step = Math.min(idle === undefined ? left : Math.max(left, SHORTEST_MS), STEP_MS);
    const begun = performance.now();
    const before = idle?.() ?? 0;
    timer = setTimeout(() => {
      const isLate = performance.now() - begun > step + LATE_MS;
      const waited = (idle?.() ?? 0) - before;
      left -= Math.max(0, (isLate ? step / 2 : step) - waited);
      if (left <= 1) done();
      else next();
    }, step);
  };
  next();
  return () => {
    clearTimeout(timer);
  };
}
