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
  /** Milliseconds between a signal that ends it and KILL. */
  grace: number;
  /** Announces things until it is aborted; its failure is nobody's business here. */
  announcer: (announce: (what: Announcement) => void, signal: AbortSignal) => Promise<void>;
}

/** Passed on to the program, which decides what they mean. */
const PASSED_ON = ['SIGINT', 'SIGQUIT', 'SIGUSR2', 'SIGTSTP'] as const;
/** After these it has a time to end. */
const ENDING = ['SIGTERM', 'SIGHUP'] as const;

/** Between a stop that did not happen and going on. */
const UNSTOPPED_MS = 50;

type Listener = (...given: never[]) => void;

/**
 * Runs a program on a pseudo-terminal of its own, between it and the terminal of this process:
 * every byte goes through as it is, in both directions, and so do size, signals, stops and the exit
 * code. The terminal is as it was when this returns, whatever the program did to it.
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

/** The traffic between the terminal and a program. */
class Between {
  readonly #screen = new Screen();
  readonly #pty: Pty;
  readonly #terminal: Terminal;
  readonly #grace: number;
  /** The terminal went away: nothing is to be written to it. */
  #gone = false;
  #last: NodeJS.Timeout | undefined;
  /** From when the session stopped until it is continued: it is still stopped when we go on. */
  #stopped = false;
  #unstopped: NodeJS.Timeout | undefined;
  /** The size was changed while the program was stopped, and so not told. */
  #tellSize = false;

  constructor(pty: Pty, terminal: Terminal, grace: number) {
    this.#pty = pty;
    this.#terminal = terminal;
    this.#grace = grace;
  }

  /** Until the program has ended; returns its exit code. */
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

  /** A child has changed: if the session has stopped, so do we, and our shell takes over. */
  readonly #changed = (): void => {
    if (this.#stopped || foregroundJobOf(this.#pty.pid)?.stopped !== true) return;
    this.#stopped = true;
    this.#show(Buffer.from(this.#screen.leave()));
    this.#terminal.restore();
    const passedOn = process.listeners('SIGTSTP');
    process.removeAllListeners('SIGTSTP');
    // The whole group: what started us is part of the job. Where no shell is there to continue it,
    // the kernel lets nothing stop. Either way this returns when it is to go on.
    process.kill(0, 'SIGTSTP');
    for (const listener of passedOn) process.on('SIGTSTP', listener);
    // Whoever was stopped is told by SIGCONT, at once.
    this.#unstopped = setTimeout(this.#resume, UNSTOPPED_MS);
  };

  /** Continued: by `fg`, or because there was nobody to stop for. */
  readonly #resume = (): void => {
    clearTimeout(this.#unstopped);
    // The kernel also continues those whose terminal it takes away.
    if (!this.#terminal.raw()) {
      this.#hangUp();
      return;
    }
    this.#show(Buffer.from(this.#screen.enter()));
    const { cols, rows } = this.#terminal.size();
    // Who is stopped is not told of a new size.
    process.emit('SIGWINCH', 'SIGWINCH');
    const now = this.#terminal.size();
    this.#tellSize ||= now.cols !== cols || now.rows !== rows;
    signalJob(this.#pty.pid, 'SIGCONT');
    this.#stopped = false;
  };
}
