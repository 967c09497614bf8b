import type { AgentMode } from '../../actions/agent-mode.ts';
import type { Clock } from '../../clock.ts';
import { userInfo } from 'node:os';

/** Streams of a command; tests pass their own implementation. */
export interface Io {
  env: NodeJS.ProcessEnv;
  cwd: string;
  out: (text: string) => void;
  /**
   * Writes the content of a file unchanged; on a terminal, everything that could control it is
   * removed.
   */
  outBytes: (bytes: Uint8Array) => void;
  err: (text: string) => void;
  /** Returns all of stdin, or undefined when it is a terminal. */
  readStdin: () => Promise<string> | undefined;
  /** Whether something waits on stdin, found out without taking it. */
  stdinHolds: () => Promise<'something' | 'nothing' | 'unknown'>;
  /** Yields the lines of stdin, as they arrive. */
  lines: () => AsyncIterable<string>;
  /** Asks a question on the terminal, until the signal is aborted; undefined when there is no terminal. */
  ask: ((question: string, signal?: AbortSignal) => Promise<string>) | undefined;
  /** Asks for a text on the terminal that is not shown there; undefined when there is no terminal. */
  askHidden?: ((question: string) => Promise<string>) | undefined;
  inIsTty: boolean;
  outIsTty: boolean;
  errIsTty: boolean;
  login: string;
  /** Set when an agent's run gives the command (trust.md §3). */
  agentMode?: AgentMode;
  /** Clock and randomness of a command, in place of this machine's. */
  clock?: Clock;
  /** Sets the effect of a first signal from here on: end the process at once, or abort `stop`. */
  interrupts?: (how: 'exit' | 'clean') => void;
  /** Writes to stderr when a signal ends the process immediately. */
  lastWord: (text: string) => void;
  /** Aborted by the first SIGINT or SIGTERM, for commands that end cleanly. */
  stop: AbortSignal;
  /** Aborted by the second such signal. */
  hurry: AbortSignal;
}

/** Exit codes (cli.md); `replaced` tells a service manager to start the newly installed version. */
export const EXIT = { ok: 0, failed: 1, usage: 2, timedOut: 3, interrupted: 130, replaced: 75 };

/** Returns the name of this user; if the system does not know it, as in a container, the environment may. */
export function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env['USER'] ?? 'operator';
  }
}
