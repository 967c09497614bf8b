/** A program on a pseudo-terminal. */
export interface Pty {
  readonly pid: number;
  write: (bytes: Uint8Array) => void;
  resize: (cols: number, rows: number) => void;
  onData: (listener: (bytes: Uint8Array) => void) => void;
  /** Once it has ended and all that it wrote was told. */
  onExit: (listener: (end: { exitCode: number; signal?: number }) => void) => void;
}

export interface PtyOptions {
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
  ) => Pty & { on?: (event: 'error', listener: () => void) => void };
}

/**
 * Loads the package with the native part, which is not there for every platform.
 *
 * @returns why it cannot be loaded, on one line
 */
export async function loadPty(): Promise<OpenPty | { problem: string }> {
  try {
    const { spawn } = (await import('@lydell/node-pty')) as unknown as Package;
    return (file, args, options) => {
      const pty = spawn(file, args, { ...options, encoding: null });
      // A write to a program that has just ended: its end is told in any case.
      pty.on?.('error', () => undefined);
      return pty;
    };
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { problem: line.trim() };
  }
}
