import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { loadPty, type Pty } from '../../src/runner/pty.ts';
import { until } from './wait.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** The real program on a terminal that the test controls: it can write and read every byte. */
export class OnTerminal {
  readonly pty: Pty;
  output = Buffer.alloc(0);
  /** Its exit code, or 128 + the number of a signal. */
  readonly ended: Promise<number>;
  #over = false;

  private constructor(pty: Pty) {
    this.pty = pty;
    pty.onData((bytes) => {
      this.output = Buffer.concat([this.output, bytes]);
    });
    this.ended = new Promise((resolve) => {
      pty.onExit(({ exitCode, signal = 0 }) => {
        this.#over = true;
        resolve(signal > 0 ? 128 + signal : exitCode);
      });
    });
    onTestFinished(async () => {
      if (this.#over) return;
      process.kill(pty.pid, 'SIGKILL');
      await this.ended;
    });
  }

  static async start(
    { dir, env, cols = 80 }: { dir: string; env: NodeJS.ProcessEnv; cols?: number },
    ...argv: string[]
  ): Promise<OnTerminal> {
    const open = await loadPty();
    if ('problem' in open) throw new Error(open.problem);
    return new OnTerminal(
      open(process.execPath, [bin, ...argv], {
        cols,
        rows: 24,
        cwd: dir,
        env: { ...process.env, TERM: 'xterm-256color', ...env, CROSSTALK_TRANSPORT: dir },
      }),
    );
  }

  /** The output as text; bytes beyond ASCII are decoded as Latin-1. */
  get text(): string {
    return this.output.toString('latin1');
  }

  async wrote(text: string): Promise<void> {
    await until(`${JSON.stringify(text)} in ${JSON.stringify(this.text.slice(-2000))}`, () =>
      this.text.includes(text),
    );
  }
}
