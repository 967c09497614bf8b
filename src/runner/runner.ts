import type { SessionKind } from '../protocol/files/tier-session.ts';
import type { Usage } from '../protocol/usage.ts';
import type { RawOutput, RawTarget } from './raw-output.ts';

/** With what an agent CLI is started. */
export interface Start {
  /** A command line as the operator approved it. */
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** The words that run it in a sandbox. */
  wrap?: readonly string[];
}

/** One prompt, and the limits within which it is to be answered. */
export interface Prompt {
  /** Message text reaches the CLI nowhere else (cli.md). */
  input: string;
  /** Milliseconds. */
  timeout: number;
  /** Milliseconds between asking the CLI to end and ending it by force. */
  grace: number;
  /** Bytes of the answer above which the prompt is ended; not if `raw` is there. */
  maxOutput: number;
  /** Where stdout goes instead of into the result. */
  raw?: RawTarget;
  /** Milliseconds until now in which the CLI waited for a person: they do not count for `timeout`. */
  idle?: () => number;
  /** Hears what is printed, as it is printed; must not throw. */
  hear?: (stream: 'out' | 'err', bytes: Buffer) => void;
}

/** What came of a prompt: success and failure have one shape, and the booleans say what happened. */
export interface InvocationResult {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Decoded as UTF-8; invalid bytes are replaced. */
  stdout: string;
  stderrTail: string;
  startError?: string;
  timedOut: boolean;
  aborted: boolean;
  tooMuchOutput: boolean;
  /** Milliseconds. */
  duration: number;
  /** What it printed, if that went to a file; `stdout` is empty then, until it was read. */
  raw?: RawOutput;
  /** Why it failed, by its own JSON. */
  reported?: string;
  /** Its JSON was asked for, and contains no answer. */
  unreadable?: true;
  usage?: Usage;
  /** The id of its session, where it says one. */
  session?: string;
  /** Whether it went on with a session; absent where its tier keeps none. */
  sessionKind?: SessionKind;
}

/** An agent CLI that was started. Whoever starts it calls {@link end}, whatever happens in between. */
export interface RunningCli {
  /** The leader of its process group; undefined when no process could be started. */
  readonly pid: number | undefined;
  /** Gives it a prompt and waits for the answer. Nothing runs before the first prompt. */
  prompt: (prompt: Prompt) => Promise<InvocationResult>;
  /** Ends the prompt under way, or the next one at once; its result says `aborted`. */
  cancel: () => void;
  /** Ends the CLI and everything that belongs to its process group. */
  end: () => void;
}

/**
 * How agent CLIs are run. The dispatcher knows this interface only: one process for one prompt is one
 * way (`process-runner.ts`), a process that is kept for several prompts would be another.
 */
export interface Runner {
  start: (start: Start) => RunningCli;
}
