import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { scratch } from './bus.ts';
import { until } from './wait.ts';

/** Whether tests can look at a screen. */
export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

/** A shell on a terminal whose screen can be read; closed when the test is over. */
export class Pane {
  readonly #socket = join(scratch(), 'tmux');

  constructor(cwd: string, env: NodeJS.ProcessEnv = {}, [cols, rows] = [80, 24]) {
    const size = ['-x', String(cols), '-y', String(rows)];
    const args = ['-f', '/dev/null', 'new-session', '-d', ...size, '-c', cwd, '/bin/sh -i'];
    execFileSync('tmux', ['-S', this.#socket, ...args], {
      env: {
        ...process.env,
        TMUX: '',
        PS1: '$ ',
        ENV: '',
        TERM: 'xterm-256color',
        LC_ALL: 'C.UTF-8',
        ...env,
      },
    });
    onTestFinished(() => {
      this.close();
    });
  }

  /** Closes the window with everything that runs in it. */
  close(): void {
    spawnSync('tmux', ['-S', this.#socket, 'kill-server']);
  }

  /** Types a text literally. */
  type(text: string): void {
    this.#tmux('send-keys', '-l', text);
  }

  /** Presses keys by their names: `Enter`, `C-c`. */
  press(...keys: string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  run(line: string): void {
    this.type(line);
    this.press('Enter');
  }

  resize(cols: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(cols), '-y', String(rows));
  }

  /** The content of the screen, without blanks at the ends of lines. */
  screen(): string {
    return this.#tmux('capture-pane', '-p').replace(/ +$/gm, '').trimEnd();
  }

  /** A value that tmux knows about the pane, such as `pane_title`. */
  value(name: string): string {
    return this.#tmux('display-message', '-p', `#{${name}}`).trimEnd();
  }

  async shows(what: string | RegExp): Promise<string> {
    let screen = '';
    const is = (): boolean =>
      typeof what === 'string' ? screen.includes(what) : what.test(screen);
    await until(`${String(what)} on the screen`, () => {
      screen = this.screen();
      return is();
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; it shows:\n${screen}`);
    });
    return screen;
  }

  async has(name: string, value: string | RegExp): Promise<void> {
    await until(`${name} ${String(value)}, not ${this.value(name)}`, () =>
      typeof value === 'string' ? this.value(name) === value : value.test(this.value(name)),
    );
  }

  #tmux(...args: string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, ...args], { encoding: 'utf8' });
  }
}
