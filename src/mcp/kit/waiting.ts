import type { Context } from '../../operations/context.ts';
import { readMessage } from '../../operations/reading/read.ts';
import { replies, type Ending, type Replied } from '../../operations/reading/replies.ts';
import { oneLine } from './untrusted.ts';
import type { ToolCall } from './tool.ts';

/** What is waited for, at most so many seconds. */
interface Waiting {
  timeout: number;
  whom?: string | undefined;
}

/** Milliseconds between two reports of progress. */
const REPORT_MS = 5000;
/** The most names in one report. */
const MOST_NAMES = 3;

/**
 * The replies to some messages, waiting as long as requested. Meanwhile a client that requested
 * progress is told for whom and how long: at the start, and every few seconds.
 *
 * @param waiting `timeout` in seconds; without it, returns the replies that exist now
 * @throws the reason of the call's signal when that is aborted
 */
export async function awaitReplies(
  context: Context,
  messages: string[],
  { signal, progress, note }: Pick<ToolCall, 'signal' | 'progress' | 'note'>,
  waiting?: { wait: 'all' | 'any'; timeout: number },
): Promise<{ ending: Ending; found: Replied[] }> {
  if (waiting === undefined) return replies(context, { messages, timeout: 0, signal });
  const { wait, timeout } = waiting;
  const asked = { messages, wait, timeout: timeout * 1000, signal, heldUp: note };
  const whom = progress && (await addressees(context, messages));
  return reporting(context, { progress, timeout, whom }, () => replies(context, asked));
}

/** Does some work that waits, and reports that to a client that requested progress. */
export async function reporting<T>(
  context: Context,
  { progress, timeout, whom = 'an answer' }: Pick<ToolCall, 'progress'> & Waiting,
  work: () => Promise<T>,
): Promise<T> {
  if (progress === undefined) return work();
  const started = context.now().getTime();
  const report = (): void => {
    const seconds = Math.round((context.now().getTime() - started) / 1000);
    // A client that has gone is noticed elsewhere.
    void progress(seconds, timeout, `waiting for ${whom} (${String(seconds)} s)`).catch(
      () => undefined,
    );
  };
  report();
  const timer = setInterval(report, REPORT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

async function addressees(context: Context, messages: readonly string[]): Promise<string> {
  const read = await Promise.all(
    messages.map((given) =>
      readMessage(context, given).then(
        ({ message }) => message.to.map(({ name }) => name),
        () => [],
      ),
    ),
  );
  const names = [...new Set(read.flat())];
  const more = names.length - MOST_NAMES;
  const listed = names.slice(0, MOST_NAMES).map(oneLine).join(', ');
  return `${listed === '' ? 'an answer' : listed}${more > 0 ? ` and ${String(more)} more` : ''}`;
}
