import { spawn } from 'node:child_process';
import { withPipes } from '../with-pipes.ts';

/** Limits of a program. */
export interface Bounds {
  /** Bytes of stdout that are kept. */
  out: number;
  /** Bytes of stderr that are kept. */
  err: number;
  /** Milliseconds until it is ended. */
  timeout: number;
  /** Ends the program when aborted. */
  signal: AbortSignal;
}

/** End of a program. `code` is null when it was ended, or could not be started. */
export interface BoundedEnd {
  code: number | null;
  out: Buffer;
  err: Buffer;
  /** Reason why it was ended early. */
  ended?: 'too_long' | 'too_much' | 'aborted';
}

/**
 * Runs a program to its end, with nothing on stdin, no terminal and no shell. It is ended, with everything in
 * its process group, as soon as it exceeds a bound; its output until then is returned.
 */
export function runBounded(
  [program = '', ...args]: readonly string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
  bounds: Bounds,
): Promise<BoundedEnd> {
  return new Promise((resolve) => {
    const child = withPipes(
      spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true }),
    );
    let ended: BoundedEnd['ended'];
    const end = (why: NonNullable<BoundedEnd['ended']>): void => {
      ended ??= why;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group has ended already.
      }
    };
    const abort = (): void => {
      end('aborted');
    };
    const timer = setTimeout(() => {
      end('too_long');
    }, bounds.timeout);
    bounds.signal.addEventListener('abort', abort, { once: true });
    const out = new Kept(bounds.out);
    const err = new Kept(bounds.err);
    child.stdout.on('data', (bytes: Buffer) => {
      if (!out.take(bytes)) end('too_much');
    });
    child.stderr.on('data', (bytes: Buffer) => void err.take(bytes));
    const done = (code: number | null): void => {
      clearTimeout(timer);
      bounds.signal.removeEventListener('abort', abort);
      const why = ended === undefined ? {} : { ended };
      resolve({ code, out: out.bytes, err: err.bytes, ...why });
    };
    child.once('error', () => {
      done(null);
    });
    child.once('close', (code) => {
      done(ended === undefined ? code : null);
    });
    if (bounds.signal.aborted) abort();
  });
}

/** The beginning of a stream. */
class Kept {
  readonly #most: number;
  readonly #parts: Buffer[] = [];
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds bytes, as far as they fit; returns whether all of them did. */
  take(bytes: Buffer): boolean {
    const part = bytes.subarray(0, this.#most - this.#length);
    this.#parts.push(part);
    this.#length += part.length;
    return part.length === bytes.length;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
