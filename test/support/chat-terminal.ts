import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { scratch, type Host } from './bus.ts';
import { exists } from './process.ts';
import { until } from './wait.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** Whether a terminal multiplexer is available for tests. */
export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

interface Options {
  columns?: number;
  rows?: number;
  env?: NodeJS.ProcessEnv;
}

/** `crosstalk chat` on its own terminal: tests press keys and read the screen. */
export class ChatTerminal {
  readonly #socket: string;
  readonly #env: NodeJS.ProcessEnv;
  /** A file with the process id of the chat. */
  readonly #pid: string;

  constructor(host: Host, argv: readonly string[], options: Options = {}) {
    const { columns = 80, rows = 24, env = {} } = options;
    const root = scratch();
    const [script, pid] = [join(root, 'script'), join(root, 'pid')];
    this.#socket = join(root, 'tmux');
    this.#pid = pid;
    this.#env = {
      ...process.env,
      ...host.env,
      CROSSTALK_TRANSPORT: host.dir,
      LC_ALL: 'C.UTF-8',
      NO_COLOR: '',
      // The screen has to be drawn even when the tests run in a build.
      CI: 'true',
      ...env,
    };
    const command = [process.execPath, bin, 'chat', ...argv].map((word) => `'${word}'`).join(' ');
    writeFileSync(
      script,
      `before=$(stty -g)\n` +
        `/bin/sh -c 'echo $$ >"$0"; exec "$@"' '${pid}' ${command}\n` +
        `code=$?\n` +
        `test "$before" = "$(stty -g)" && same=as || same='not as'\n` +
        `echo "left with $code, terminal $same before"; exec cat\n`,
    );
    const size = ['-x', String(columns), '-y', String(rows)];
    this.#tmux('-f', '/dev/null', 'new-session', '-d', ...size, '/bin/sh', script);
    const server = Number(this.#tmux('display-message', '-p', '#{pid}'));
    onTestFinished(async () => {
      this.#tmux('kill-server');
      const isGone = async (process_: number): Promise<boolean> => !(await exists(process_));
      await until('the terminal to end', () => isGone(server));
      await until('the chat to end', () => isGone(Number(readFileSync(pid, 'utf8'))));
    });
  }

  /** Sends the chat a signal. */
  signal(name: NodeJS.Signals): void {
    process.kill(Number(readFileSync(this.#pid, 'utf8')), name);
  }

  /** Presses keys as tmux names them. */
  press(...keys: string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  /** Types a text and presses Enter. */
  say(text: string): void {
    this.type(text);
    this.press('Enter');
  }

  type(text: string): void {
    this.#tmux('send-keys', '-l', text);
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', String(rows));
  }

  /** The screen's lines, without blanks at their ends. */
  lines(): string[] {
    return this.#tmux('capture-pane', '-p')
      .split('\n')
      .map((line) => line.trimEnd());
  }

  /** The screen with its escape sequences for colours. */
  coloured(): string {
    return this.#tmux('capture-pane', '-p', '-e');
  }

  /** A value that tmux knows about the terminal. */
  ask(format: string): string {
    return this.#tmux('display-message', '-p', format).trim();
  }

  /** Lets the terminal take what programs put on its clipboard, as most terminals do. */
  takeClipboard(): void {
    this.#tmux('set-option', '-s', 'set-clipboard', 'on');
  }

  /** What is on the terminal's clipboard. */
  clipboard(): string {
    return this.#tmux('show-buffer');
  }

  /** Waits until the screen shows something; returns its lines. */
  shows(what: string | RegExp): Promise<string[]> {
    return this.until(`${String(what)} on the screen`, (text) =>
      typeof what === 'string' ? text.includes(what) : what.test(text),
    );
  }

  /** Completes what is typed, again while the chat does not know the names yet. */
  async completes(what: string): Promise<void> {
    await this.until(`${what} on the screen`, (text) => {
      if (text.includes(what)) return true;
      this.press('Tab');
      // The press is drawn before the next look, or it would choose the next name.
      execFileSync('sleep', ['0.5']);
      return this.lines().join('\n').includes(what);
    });
  }

  async until(what: string, holds: (text: string) => boolean): Promise<string[]> {
    let lines: string[] = [];
    return until(
      what,
      () => {
        lines = this.lines();
        return holds(lines.join('\n')) && lines;
      },
      30_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}; it shows:\n${lines.join('\n')}`);
    });
  }

  #tmux(...args: string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, ...args], {
      encoding: 'utf8',
      env: this.#env,
    });
  }
}
