import type { SessionKind } from '../protocol/files/tier-options.ts';
import type { Usage } from '../protocol/usage.ts';
import type { RawOutput, RawTarget } from './raw-output.ts';

/** The command, surroundings and protocol with which an agent CLI is started. */
export interface Start {
  /** Command line as the operator approved it. */
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Words before the command that run it in a sandbox. */
  wrap?: readonly string[];
  /** Set if it speaks the Agent Client Protocol; otherwise the prompt is its stdin, and stdout its answer. */
  acp?: AcpSession;
}

/** Parameters of a session of the Agent Client Protocol. */
export interface AcpSession {
  /** MCP servers in the protocol's form; they may hold secrets. */
  servers: readonly Record<string, unknown>[];
  /** Further metadata in the agent's own form. */
  meta?: Record<string, unknown>;
  /** Further folders in which the agent may write. */
  folders: readonly string[];
  /** Values of configuration options, by their ids. */
  options: Readonly<Record<string, string>>;
}

/** A prompt, and the limits of its answer. */
export interface Prompt {
  /** Text of the prompt; message text reaches the CLI nowhere else (cli.md). */
  input: string;
  /** Milliseconds until the prompt is ended. */
  timeout: number;
  /** Milliseconds between asking the CLI to end and ending it by force. */
  grace: number;
  /** Bytes of the answer above which the prompt is ended; without effect if `raw` is set. */
  maxOutput: number;
  /** File that receives stdout instead of the result. */
  raw?: RawTarget;
  /** Returns the milliseconds until now in which the CLI waited for a person: they do not count for `timeout`. */
  idle?: () => number;
  /** Receives the output as it is printed; must not throw. */
  hear?: (stream: 'out' | 'err', bytes: Buffer) => void;
  /**
   * Decides whether a tool that the CLI requests may be used, once; without it the answer is no. Never rejects.
   *
   * @param call in the form of the Agent Client Protocol, unchecked
   * @param gone aborted when the CLI does not wait for the answer any more
   */
  permit?: (call: unknown, gone: AbortSignal) => Promise<boolean>;
}

/** Text that is added to the current prompt, in the two forms in which an agent can receive it. */
export interface Words {
  /** Form for an agent that accepts text during its work. */
  into: string;
  /** Form for an agent that has to start again: the whole prompt. */
  again: string;
}

/**
 * Effect of added text: the prompt continues with it (`into`), was ended and started again with it (`again`),
 * had ended before (`late`), or its process was ended for it, and has to be started again (`ended`).
 */
export type Reached = 'into' | 'again' | 'late' | 'ended';

/** Result of a prompt: success and failure have one shape, and the booleans say what happened. */
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
  /** Milliseconds from the prompt to the result. */
  duration: number;
  /** The output, if it went to a file; `stdout` is empty then, until the file was read. */
  raw?: RawOutput;
  /** Reason of the failure, from the CLI's JSON. */
  reported?: string;
  /** Set if JSON was requested and contains no answer. */
  unreadable?: true;
  usage?: Usage;
  /** Whether its JSON is complete: the stated usage is then all of it. */
  isFinal?: boolean;
  /** Id of its session, if it states one. */
  session?: string;
  /** Kind of its session; absent if its tier keeps none. */
  sessionKind?: SessionKind;
  /** Tokens in the context of its session, and the context's size, if it states them. */
  context?: { used: number; size: number };
  /** Set if the CLI ended before it received the prompt: nothing was spent, and nothing was done. */
  unsent?: true;
}

/** A started agent CLI. The caller that starts it also calls {@link end}, whatever happens in between. */
export interface RunningCli {
  /** The leader of its process group; undefined when no process could be started. */
  readonly pid: number | undefined;
  /** Gives the CLI a prompt and waits for the answer. Nothing runs before the first prompt. */
  prompt: (prompt: Prompt) => Promise<InvocationResult>;
  /** Whether the CLI accepts another prompt. */
  readonly isOpen: boolean;
  /** Ends the current prompt, or the next one immediately; its result says `aborted`. */
  cancel: () => void;
  /** Adds text to the current prompt; absent if a process takes one prompt. Never rejects. */
  steer?: (words: Words) => Promise<Reached>;
  /** Ends the CLI because it violated a rule; the current prompt fails with the reason. */
  fail: (why: string) => void;
  /** Ends the CLI and everything that belongs to its process group. */
  end: () => void;
}

/**
 * A method of running agent CLIs. The dispatcher knows only this interface: one implementation is a process
 * for one prompt (`process-runner.ts`), another a process that takes several prompts (`acp/runners.ts`).
 */
export interface Runner {
  start: (start: Start) => RunningCli;
}

interface Asking extends Prompt {
  /** Cancels the prompt. */
  signal: AbortSignal;
  /** Called once the process exists; the prompt starts after it has resolved, and not if it fails. */
  onStart: (pid: number) => Promise<void>;
}

/** Gives a prompt to a running CLI; the caller ends the CLI. */
export async function ask(cli: RunningCli, asking: Asking): Promise<InvocationResult> {
  const { signal, onStart } = asking;
  const cancel = (): void => {
    cli.cancel();
  };
  signal.addEventListener('abort', cancel, { once: true });
  try {
    if (cli.pid !== undefined) await onStart(cli.pid);
    if (signal.aborted) cancel();
    return await cli.prompt(asking);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

export type Invocation = Start & Asking;

/** Starts a CLI, gives it one prompt and ends it. Nothing of its process group outlives the call. */
export async function invoke(runner: Runner, invocation: Invocation): Promise<InvocationResult> {
  const cli = runner.start(invocation);
  try {
    return await ask(cli, invocation);
  } finally {
    cli.end();
  }
}
