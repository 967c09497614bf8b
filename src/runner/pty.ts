import { closeSync, constants, openSync, readSync } from 'node:fs';
import { foregroundJobOf } from './foreground-job.ts';

/** A program on a pseudo-terminal. */
export interface Pty {
  readonly pid: number;
  write: (bytes: Uint8Array) => void;
  resize: (cols: number, rows: number) => void;
  onData: (listener: (bytes: Uint8Array) => void) => void;
  /** Called once the program has ended and all of its output was passed on. */
  onExit: (listener: (end: { exitCode: number; signal?: number }) => void) => void;
}

interface PtyOptions {
  cols: number;
  rows: number;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

export type OpenPty = (file: string, args: readonly string[], options: PtyOptions) => Pty;

/** The used part of the package: with `encoding: null` it passes bytes, which its types do not express. */
interface Package {
  spawn: (
    file: string,
    args: readonly string[],
    options: PtyOptions & { encoding: null },
  ) => PackagePty;
}

interface PackagePty extends Pty {
  on?: (event: 'error', listener: () => void) => void;
  /** The descriptor of this end of the pseudo-terminal, and the path of the other end. */
  fd?: number;
  ptsName?: string;
}

/**
 * Loads the package with its native part, which does not exist for every platform.
 *
 * @returns why it cannot be loaded, on one line
 */
export async function loadPty(): Promise<OpenPty | { problem: string }> {
  try {
    const { spawn } = (await import('@lydell/node-pty')) as unknown as Package;
    return (file, args, options) => whole(spawn(file, args, { ...options, encoding: null }));
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { problem: line.trim() };
  }
}

const READ_BYTES = 64 * 1024;

/**
 * Prevents the loss of output at the end. Node treats the hang-up that follows the end of a program as the
 * end of its output, although the kernel still holds some. Therefore this holds the other end open, and
 * closes it when the program has ended and everything was read: then a read would have to wait, because on
 * Linux a read returns everything written before it waits.
 */
function whole(pty: PackagePty): Pty {
  // An error of a write to a program that has just ended; its end is reported anyway.
  pty.on?.('error', () => undefined);
  const { fd, ptsName } = pty;
  let other = ptsName === undefined ? undefined : keepOpen(ptsName);
  if (fd === undefined || other === undefined) return pty;
  const listeners: ((bytes: Uint8Array) => void)[] = [];
  const letGo = (): void => {
    process.off('SIGCHLD', changed);
    if (other !== undefined) closeSync(other);
    other = undefined;
  };
  const changed = (): void => {
    if (other === undefined || foregroundJobOf(pty.pid) !== undefined) return;
    for (let bytes = readSome(fd); bytes.length > 0; bytes = readSome(fd))
      for (const listener of listeners) listener(bytes);
    letGo();
  };
  process.on('SIGCHLD', changed);
  return {
    pid: pty.pid,
    write: (bytes) => {
      pty.write(bytes);
    },
    resize: (cols, rows) => {
      pty.resize(cols, rows);
    },
    onData: (listener) => {
      listeners.push(listener);
      pty.onData(listener);
    },
    onExit: (listener) => {
      pty.onExit((end) => {
        letGo();
        listener(end);
      });
      // It may have ended before a listener was added.
      setImmediate(changed);
    },
  };
}

function keepOpen(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  } catch {
    return undefined;
  }
}

/** Reads what is available without waiting; empty at the end. */
function readSome(fd: number): Uint8Array {
  const bytes = Buffer.alloc(READ_BYTES);
  try {
    return bytes.subarray(0, readSync(fd, bytes));
  } catch {
    return bytes.subarray(0, 0);
  }
}
