import type { AgentMode } from '../../operations/agent-mode.ts';
import type { TimeAndChance } from '../../operations/time-and-chance.ts';

/** Where a command reads and writes; tests give their own. */
export interface Io {
  env: NodeJS.ProcessEnv;
  cwd: string;
  out: (text: string) => void;
  /** A file's content, as it is; but for a terminal, which it cannot steer. */
  outBytes: (bytes: Uint8Array) => void;
  err: (text: string) => void;
  /** All of stdin; undefined when it is a terminal. */
  readStdin: () => Promise<string> | undefined;
  /** Stdin a line at a time, as they come. */
  lines: () => AsyncIterable<string>;
  /** Asks on the terminal; undefined when there is none. */
  ask: ((question: string) => Promise<string>) | undefined;
  inIsTty: boolean;
  outIsTty: boolean;
  errIsTty: boolean;
  login: string;
  /** Set where a run gives the command (trust.md §3). */
  agentMode?: AgentMode;
  /** What a command goes by instead of the time and the chance of this machine. */
  timeAndChance?: TimeAndChance;
  /** What stderr is told when a signal ends the process at once. */
  lastWord: (text: string) => void;
  /** Aborted by the first SIGINT or SIGTERM, for commands that end cleanly. */
  stop: AbortSignal;
  /** Aborted by the second. */
  hurry: AbortSignal;
}
