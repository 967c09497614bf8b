import type { InvocationResult, Prompt, Runner, RunningCli, Start } from './runner.ts';

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
