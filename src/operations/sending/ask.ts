import { CrosstalkError } from '../../errors.ts';
import type { Context } from '../context.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Ending, Replied } from '../reading/replies.ts';
import type { AskEvents } from './await-answer.ts';
import type { SendInput, Sent } from './input.ts';
import { send, type Sender, type SendOptions } from './send.ts';

/** A question, and what became of it. */
export interface Asked {
  sent: Sent;
  ending: Ending;
  question: Replied;
}

/**
 * Sends a question and waits for its answer (talk.md). The transport is opened while the message is on
 * its way.
 *
 * @param limits `timeout`: milliseconds to wait once it is sent; `marks`, `attachments` as for
 *   {@link send}
 * @throws CrosstalkError as {@link send} does; the reason of `signal` when that is aborted
 */
export async function ask(
  sender: Sender,
  input: SendInput,
  limits: { timeout: number; signal: AbortSignal } & Pick<SendOptions, 'marks' | 'attachments'>,
  events: AskEvents = {},
): Promise<Asked> {
  const { timeout, signal, ...beside } = limits;
  let opened: (context: Context) => void = () => undefined;
  const opening = new Promise<Context>((resolve) => (opened = resolve));
  // Loading what the waiting needs would keep the question from being on its way.
  let onAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const { onDurable } = events;
  const sending = new Promise<Sent>((resolve, reject) => {
    const open = async <T>(work: Work<T>): Promise<T> => {
      onAsked();
      return work(await opening);
    };
    const theirs = { ...sender, open };
    // What follows the sending, as the checkout does, need not be awaited.
    const options = { onSent: resolve, onAsked, ...(onDurable && { onDurable }), ...beside };
    void send(theirs, { ...input, awaited: true }, options).catch(reject);
  });
  await unlessAborted(Promise.race([asked, sending]), signal);
  return sender.open(async (context) => {
    const { tipOf } = await import('../context.ts');
    const since = await tipOf(context);
    opened(context);
    const waiting = import('./await-answer.ts');
    const sent = await unlessAborted(sending, signal);
    const ref = questionIn(sent);
    events.onSent?.(ref, sent);
    const { answered } = await waiting;
    const { ending, found } = await answered(
      context,
      { ...input, from: sent.from },
      { timeout, signal, since, ref },
      events,
    );
    const [question] = found;
    if (question === undefined)
      throw new CrosstalkError('internal', `nothing is known of the question ${ref.relPath}`);
    return { sent, ending, question };
  });
}

type Work<T> = (context: Context) => Promise<T>;

function questionIn({ channel, messages }: Sent): MessageRef {
  const [first] = messages;
  if (first === undefined) throw new CrosstalkError('internal', 'sending has made no message');
  return { channel: first.channel ?? channel, relPath: first.relPath };
}

/** The result of some work, unless the signal is aborted first; the work goes on then. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
