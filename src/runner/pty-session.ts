import { foregroundJobOf, JOB_SCRIPT, killPosixSession, signalJob } from './foreground-job.ts';
import type { OpenPty, Pty } from './pty.ts';
import { Screen, type Announcement } from './screen.ts';
import type { Terminal } from './terminal.ts';
import { reasonOf } from '../errors.ts';

export interface PtySession {
  command: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  terminal: Terminal;
  open: OpenPty;
  /** Milliseconds between a signal that ends the program and SIGKILL. */
  grace: number;
  /** Announces messages until it is aborted; its failure is ignored here. */
  announcer: (announce: (what: Announcement) => void, signal: AbortSignal) => Promise<void>;
}

/** Signals passed on to the program, which decides what they mean. */
const PASSED_ON = ['SIGINT', 'SIGQUIT', 'SIGUSR2', 'SIGTSTP'] as const;
/** Signals after which the program has some time to end. */
const ENDING = ['SIGTERM', 'SIGHUP'] as const;

/** Milliseconds between a stop that did not happen and continuing. */
const UNSTOPPED_MS = 50;

type Listener = (...given: never[]) => void;

/**
 * Runs a program on its own pseudo-terminal, and connects that to the terminal of this process:
 * every byte is passed on unchanged in both directions, and so are size, signals, stops and the
 * exit code. When this returns the terminal is in its former state, whatever the program did to it.
 *
 * @returns the program's exit code, 128 + the number of the signal that ended it; or why there is
 *   no pseudo-terminal
 */
export async function runOnPty(
  session: PtySession,
): Promise<{ exitCode: number } | { problem: string }> {
  const { terminal, command, cwd, env } = session;
  const over = new AbortController();
  terminal.raw();
  let announcing: Promise<unknown> = Promise.resolve();
  try {
    let pty: Pty;
    try {
      const args = ['-c', JOB_SCRIPT, 'sh', terminal.settings, ...command];
      pty = session.open('/bin/sh', args, { ...terminal.size(), cwd, env });
    } catch (error) {
      return { problem: reasonOf(error) };
    }
    const between = new Between(pty, terminal, session.grace);
    announcing = session
      .announcer((what) => {
        between.announce(what);
      }, over.signal)
      .catch(() => undefined);
    return { exitCode: await between.run() };
  } finally {
    terminal.restore();
    over.abort();
    await announcing;
  }
}

/** A connection between the terminal and a program. */
class Between {
  readonly #screen = new Screen();
  readonly #pty: Pty;
  readonly #terminal: Terminal;
  readonly #grace: number;
  /** Whether the terminal no longer exists, so that nothing may be written to it. */
  #gone = false;
  #last: NodeJS.Timeout | undefined;
  /**
   * Whether the session is stopped; true from its stop until it is continued: it is still stopped when this
   * process continues.
   */
  #stopped = false;
  #unstopped: NodeJS.Timeout | undefined;
  /** Whether the size was changed while the program was stopped, so that it received no signal. */
  #tellSize = false;

  constructor(pty: Pty, terminal: Terminal, grace: number) {
    this.#pty = pty;
    this.#terminal = terminal;
    this.#grace = grace;
  }

  /** Resolves with the exit code once the program has ended. */
  run(): Promise<number> {
    const listeners = this.#listeners();
    const each = (what: 'on' | 'off'): void => {
      for (const [emitter, event, listener] of listeners)
        emitter[what](event, listener as (...given: unknown[]) => void);
    };
    each('on');
    process.stdin.resume();
    this.#pty.onData((bytes) => {
      this.#show(this.#screen.output(bytes));
      if (!this.#tellSize) return;
      this.#tellSize = false;
      signalJob(this.#pty.pid, 'SIGWINCH');
    });
    return new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal = 0 }) => {
        clearTimeout(this.#last);
        clearTimeout(this.#unstopped);
        each('off');
        process.stdin.pause();
        this.#show(Buffer.from(this.#screen.leave()));
        resolve(signal > 0 ? 128 + signal : exitCode);
      });
    });
  }

  announce(what: Announcement): void {
    this.#show(this.#screen.announce(what));
  }

  #listeners(): [NodeJS.EventEmitter, string, Listener][] {
    const passOn = (signal: NodeJS.Signals): void => {
      signalJob(this.#pty.pid, signal);
    };
    return [
      [process.stdin, 'data', this.#typed],
      [process.stdin, 'end', this.#hangUp],
      [process.stdin, 'error', this.#hangUp],
      [process.stdout, 'resize', this.#resized],
      [process, 'SIGCHLD', this.#changed],
      [process, 'SIGCONT', this.#resume],
      ...PASSED_ON.map(
        (signal) => [process, signal, passOn] as [NodeJS.EventEmitter, string, Listener],
      ),
      ...ENDING.map(
        (signal) => [process, signal, this.#end] as [NodeJS.EventEmitter, string, Listener],
      ),
    ];
  }

  #show(bytes: Uint8Array): void {
    if (this.#gone || bytes.length === 0) return;
    if (!this.#terminal.write(bytes)) this.#hangUp();
  }

  readonly #typed = (bytes: Buffer): void => {
    this.#pty.write(bytes);
    this.#show(this.#screen.input(bytes));
  };

  readonly #resized = (): void => {
    const { cols, rows } = this.#terminal.size();
    this.#pty.resize(cols, rows);
  };

  readonly #hangUp = (): void => {
    this.#gone = true;
    this.#end('SIGHUP');
  };

  readonly #end = (signal: NodeJS.Signals): void => {
    signalJob(this.#pty.pid, signal);
    this.#last ??= setTimeout(() => {
      killPosixSession(this.#pty.pid);
    }, this.#grace);
  };

  /**
   * Handles a change of a child's state: if the session has stopped, this process stops too, and the
   * operator's shell takes over.
   */
  readonly #changed = (): void => {
    if (this.#stopped || foregroundJobOf(this.#pty.pid)?.stopped !== true) return;
    this.#stopped = true;
    this.#show(Buffer.from(this.#screen.leave()));
    this.#terminal.restore();
    const passedOn = process.listeners('SIGTSTP');
    process.removeAllListeners('SIGTSTP');
    // Stop the whole group, because the process that started this one is part of the job. If no
    // shell could continue it, the kernel does not stop it. In both cases this returns when it
    // should continue.
    process.kill(0, 'SIGTSTP');
    for (const listener of passedOn) process.on('SIGTSTP', listener);
    // A process that was really stopped receives SIGCONT immediately after it is continued.
    this.#unstopped = setTimeout(this.#resume, UNSTOPPED_MS);
  };

  /** Handles the continuation of this process: through `fg`, or because it was not stopped. */
  readonly #resume = (): void => {
    clearTimeout(this.#unstopped);
    // The kernel also continues processes whose terminal it takes away.
    if (!this.#terminal.raw()) {
      this.#hangUp();
      return;
    }
    this.#show(Buffer.from(this.#screen.enter()));
    const { cols, rows } = this.#terminal.size();
    // A stopped process receives no signal of a new size.
    process.emit('SIGWINCH', 'SIGWINCH');
    const now = this.#terminal.size();
    this.#tellSize ||= now.cols !== cols || now.rows !== rows;
    signalJob(this.#pty.pid, 'SIGCONT');
    this.#stopped = false;
  };
}
