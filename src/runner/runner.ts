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
  /** Where it speaks the Agent Client Protocol; otherwise the prompt is its stdin, and stdout its answer. */
  acp?: AcpSession;
}

/** With what a session of the Agent Client Protocol is opened. */
export interface AcpSession {
  /** MCP servers, as the protocol has them; they may hold secrets. */
  servers: readonly Record<string, unknown>[];
  /** What else the agent is told, in its own words. */
  meta?: Record<string, unknown>;
  /** Folders in which it may write besides. */
  folders: readonly string[];
  /** Options that are set, by their ids. */
  options: Readonly<Record<string, string>>;
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
  /**
   * Decides whether a tool may be used, once, of which the CLI asks; without it the answer is no. Never rejects.
   *
   * @param call as the Agent Client Protocol has it: anything
   * @param gone aborted when the CLI does not wait for it any more
   */
  permit?: (call: unknown, gone: AbortSignal) => Promise<boolean>;
}

/** Words for a prompt that is under way, in both forms in which an agent can take them. */
export interface Words {
  /** For one that takes them into its work. */
  into: string;
  /** For one that has to begin again: the whole of it. */
  again: string;
}

/**
 * What came of such words: the prompt goes on with them (`into`), was ended and begun again with them
 * (`again`), had come to its end before (`late`), or its process was ended for them, which has to be started
 * again (`ended`).
 */
export type Reached = 'into' | 'again' | 'late' | 'ended';

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
  /** Whether its JSON has come to its end: what it states is all that it used. */
  isFinal?: boolean;
  /** The id of its session, where it says one. */
  session?: string;
  /** Whether it went on with a session; absent where its tier keeps none. */
  sessionKind?: SessionKind;
  /** How full the context of its session is, in tokens, where it says that. */
  context?: { used: number; size: number };
  /** It came to its end before it was given the prompt: nothing was spent, and nothing was done. */
  unsent?: true;
}

/** An agent CLI that was started. Whoever starts it calls {@link end}, whatever happens in between. */
export interface RunningCli {
  /** The leader of its process group; undefined when no process could be started. */
  readonly pid: number | undefined;
  /** Gives it a prompt and waits for the answer. Nothing runs before the first prompt. */
  prompt: (prompt: Prompt) => Promise<InvocationResult>;
  /** Whether it takes another prompt. */
  readonly isOpen: boolean;
  /** Ends the prompt under way, or the next one at once; its result says `aborted`. */
  cancel: () => void;
  /** Tells the prompt under way something more; absent where a process takes one prompt. Never rejects. */
  steer?: (words: Words) => Promise<Reached>;
  /** Ends it for what it must not do; the prompt under way fails with the reason. */
  fail: (why: string) => void;
  /** Ends the CLI and everything that belongs to its process group. */
  end: () => void;
}

/**
 * How agent CLIs are run. The dispatcher knows this interface only: one process for one prompt is one
 * way (`process-runner.ts`), a process that takes several prompts is another (`acp/runners.ts`).
 */
export interface Runner {
  start: (start: Start) => RunningCli;
}
