import type { InvocationResult, Prompt, Runner, Start } from './runner.ts';

export interface Invocation extends Start, Prompt {
  /** Cancels the prompt. */
  signal: AbortSignal;
  /** Called once the process exists; nothing runs before it has ended, nor if it fails. */
  onStart: (pid: number) => Promise<void>;
}

/** Starts a CLI, gives it one prompt and ends it. Nothing of its process group outlives the call. */
export async function invoke(runner: Runner, invocation: Invocation): Promise<InvocationResult> {
  const { signal, onStart } = invocation;
  const cli = runner.start(invocation);
  const cancel = (): void => {
    cli.cancel();
  };
  signal.addEventListener('abort', cancel, { once: true });
  try {
    if (cli.pid !== undefined) await onStart(cli.pid);
    if (signal.aborted) cancel();
    return await cli.prompt(invocation);
  } finally {
    signal.removeEventListener('abort', cancel);
    cli.end();
  }
}
