import { closeSync, constants, openSync, readSync } from 'node:fs';
import { foregroundJobOf } from './foreground-job.ts';

/** A program on a pseudo-terminal. */
export interface Pty {
  readonly pid: number;
  write: (bytes: Uint8Array) => void;
  resize: (cols: number, rows: number) => void;
  onData: (listener: (bytes: Uint8Array) => void) => void;
  /** Once it has ended and all that it wrote was told. */
  onExit: (listener: (end: { exitCode: number; signal?: number }) => void) => void;
}

interface PtyOptions {
  cols: number;
  rows: number;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

export type OpenPty = (file: string, args: readonly string[], options: PtyOptions) => Pty;

/** What we use of the package: with `encoding: null` it passes bytes, which its types do not say. */
interface Package {
  spawn: (
    file: string,
    args: readonly string[],
    options: PtyOptions & { encoding: null },
  ) => PackagePty;
}

interface PackagePty extends Pty {
  on?: (event: 'error', listener: () => void) => void;
  /** Of our end of the pseudo-terminal, and the path of the other. */
  fd?: number;
  ptsName?: string;
}

/**
 * Loads the package with the native part, which is not there for every platform.
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
 * Lets no output be lost at the end. Node takes the hang-up that follows the end of a program for
 * the end of what it wrote, though the kernel still holds some. So we keep the other side open, and
 * close it when the program is gone and everything was read: a read that would have to wait says so,
 * because Linux brings all that was written before it lets a read wait.
 */
function whole(pty: PackagePty): Pty {
  // A write to a program that has just ended: its end is told in any case.
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
      // It may have ended before anybody listened.
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

/** What can be read without waiting; nothing at the end. */
function readSome(fd: number): Uint8Array {
  const bytes = Buffer.alloc(READ_BYTES);
  try {
    return bytes.subarray(0, readSync(fd, bytes));
  } catch {
    return bytes.subarray(0, 0);
  }
}
