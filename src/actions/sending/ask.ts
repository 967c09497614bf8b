import { CrosstalkError } from '../../errors.ts';
import type { Context } from '../context.ts';
import { parseRecipients } from '../../protocol/address.ts';
import { asksSeveral } from '../../protocol/owed.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { ShownMessage } from '../lookup/seen.ts';
import type { Ending, Replied } from '../reading/replies.ts';
import { earlyAnswer } from './early-answer.ts';
import { type DispatcherPlace, send, type Sender, type SendOptions } from './send.ts';
import type { SendInput, Sent } from './input.ts';
import type { WaitEvents } from './answered.ts';
import { wait } from '../../wait.ts';

/**
 * The state of an interrupted question: nowhere, and it never will be sent; with a dispatcher, which may
 * send it; or safe on disk, or on the bus.
 */
export type Reached = 'nowhere' | 'handed' | 'recorded';

/** Milliseconds to wait for a write that hangs. */
const PATIENCE_MS = 2000;

type Stage = 'nowhere' | 'handing' | 'handed' | 'recording' | 'recorded';

/**
 * The progress of a question, so that the message to its asker after an interrupt is true:
 *
 * nowhere → handing → handed → recorded                    a dispatcher was asked, and has sent it
 * nowhere → handing → nowhere → recording → recorded       there is none, so this process sends it
 *
 * Once the signal is aborted, nothing leaves `nowhere`. A question between two certain stages then, as a
 * request that is being written to a socket or an entry that is being written to disk, is awaited.
 */
export class Way {
  readonly #signal: AbortSignal;
  #at: Stage = 'nowhere';
  #failure: { error: unknown } | undefined;
  #onMove: () => void = () => undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Records that a dispatcher is asked, if there is one. */
  handing(): void {
    this.#move('handing');
  }

  /** Records that a dispatcher was asked. */
  handed(): void {
    if (this.#at === 'handing') this.#move('handed');
  }

  /**
   * Records that this process sends it; a dispatcher that was asked, and has not answered, may send it
   * all the same.
   */
  alone(): void {
    if (this.#at === 'handing') this.#move('nowhere');
  }

  /**
   * Records that it is about to be written to disk.
   *
   * @throws the reason of the signal when that is aborted: nothing may be written any more
   */
  recording(): void {
    this.#signal.throwIfAborted();
    if (this.#at === 'nowhere') this.#move('recording');
  }

  /** Records that it is safe on disk, or on the bus. */
  recorded(): void {
    this.#move('recorded');
  }

  /** Records that sending has failed. */
  failed(error: unknown): void {
    if (!this.#isBetween) return;
    this.#failure = { error };
    this.#onMove();
  }

  /**
   * Returns the state of the question, once its asker is interrupted.
   *
   * @throws the error of the sending, if it failed in the meantime
   */
  async reached(): Promise<Reached> {
    if (this.#isBetween && this.#failure === undefined) {
      const moved = new Promise<void>((resolve) => (this.#onMove = resolve));
      await Promise.race([moved, wait(PATIENCE_MS)]);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#at === 'nowhere' || this.#at === 'recorded' ? this.#at : 'handed';
  }

  get #isBetween(): boolean {
    return this.#at === 'handing' || this.#at === 'recording';
  }

  #move(to: Stage): void {
    this.#at = to;
    this.#onMove();
  }
}

/** A question with its outcome. */
export interface Asked {
  sent: Sent;
  ending: Ending;
  question: Replied;
}

/**
 * Milliseconds after its sending in which only a plain answer is awaited: an actor that answers so early
 * would have to share the processor with the modules that this process loads to look for more.
 */
const AT_FIRST_MS = 500;

/**
 * Sends a question and waits for its answer (talk.md). The transport is opened when this process sends it
 * itself, and when its dispatcher has not reported a plain answer after a moment.
 *
 * @param limits `timeout`: milliseconds to wait once it is sent; `any`: whether the first answer is
 *   enough when several are asked; `atFirst`: see {@link AT_FIRST_MS}; `marks`, `attachments` as for
 *   {@link send}
 * @throws CrosstalkError as {@link send} does; the reason of `signal` when that is aborted
 */
export async function ask(
  sender: Sender,
  input: SendInput,
  limits: AskLimits,
  events: AskEvents = {},
): Promise<Asked> {
  const way = new Way(limits.signal);
  try {
    return await askOn(way, sender, input, limits, events);
  } catch (error) {
    if (limits.signal.aborted) {
      const reached = await way.reached();
      events.onInterrupted?.(reached);
    }
    throw error;
  }
}

type AskLimits = {
  timeout: number;
  signal: AbortSignal;
  any?: boolean;
  atFirst?: number;
} & Pick<SendOptions, 'marks' | 'attachments'>;

async function askOn(
  way: Way,
  sender: Sender,
  input: SendInput,
  limits: AskLimits,
  events: AskEvents,
): Promise<Asked> {
  const { timeout, signal, any = false, atFirst = AT_FIRST_MS, ...beside } = limits;
  signal.throwIfAborted();
  let opened: (context: Context) => void = () => undefined;
  const opening = new Promise<Context>((resolve) => (opened = resolve));
  let onOpen: () => void = () => undefined;
  const opens = new Promise<undefined>((resolve) => {
    onOpen = () => {
      resolve(undefined);
    };
  });
  let dispatcher: DispatcherPlace | undefined;
  const { onDurable } = events;
  const sending = new Promise<Sent>((resolve, reject) => {
    const open = async <T>(work: Work<T>): Promise<T> => {
      way.alone();
      onOpen();
      return work(await opening);
    };
    const theirs = { ...sender, open };
    const onAsked = (place: DispatcherPlace): void => {
      dispatcher = place;
      way.handed();
      // It takes as long as the dispatcher's work, beside which it is done.
      void import('./answered.ts');
    };
    const options: SendOptions = {
      onAsked,
      onRecording: () => {
        way.recording();
      },
      onDurable: (messages) => {
        way.recorded();
        onDurable?.(messages);
      },
      // The work after the sending, such as the checkout, need not be awaited.
      onSent: (sent) => {
        way.recorded();
        resolve(sent);
      },
      ...beside,
    };
    way.handing();
    const done = send(theirs, { ...input, awaited: true }, options);
    void done.catch((error: unknown) => {
      way.failed(error);
    });
    void done.catch(reject);
  });
  const handed = await unlessAborted(Promise.race([sending, opens]), signal);
  if (handed !== undefined) events.onSent?.(questionIn(handed), handed);
  const begun = performance.now();
  const isOneEnough = any || !asksSeveral(parseRecipients(input.to).to);
  if (isOneEnough && dispatcher !== undefined && handed?.delivered.published === true) {
    const moment = { timeout: Math.min(timeout, atFirst), signal };
    const question = await earlyAnswer(dispatcher, questionIn(handed), moment);
    signal.throwIfAborted();
    if (question !== undefined) {
      const { addSeen } = await import('../lookup/seen.ts');
      await addSeen(dispatcher.seen, handed.from, repliesIn(question));
      return { sent: handed, ending: 'complete', question };
    }
  }
  return sender.open(async (context) => {
    const { tipOf } = await import('../context.ts');
    const { answered } = await import('./answered.ts');
    const { noteSeen } = await import('../lookup/seen.ts');
    const since = handed?.since ?? (await tipOf(context));
    signal.throwIfAborted();
    opened(context);
    const sent = await unlessAborted(sending, signal);
    const ref = questionIn(sent);
    if (handed === undefined) events.onSent?.(ref, sent);
    const left = handed === undefined ? timeout : timeout - (performance.now() - begun);
    const { ending, found } = await answered(
      context,
      { ...input, from: sent.from },
      { wait: any ? 'first' : 'all', timeout: Math.max(0, left), signal, since, ref },
      events,
    );
    const [question] = found;
    if (question === undefined)
      throw new CrosstalkError('internal', `nothing is known of the question ${ref.relPath}`);
    await noteSeen(context, sent.from, repliesIn(question));
    return { sent, ending, question };
  });
}

/** Returns the replies to a question, which the asker is shown. */
function repliesIn({ ref: { channel }, replies }: Replied): ShownMessage[] {
  return replies.map((one) => ({ ...one, channel }));
}

type Work<T> = (context: Context) => Promise<T>;

function questionIn({ channel, messages }: Sent): MessageRef {
  const [first] = messages;
  if (first === undefined) throw new CrosstalkError('internal', 'sending has made no message');
  return { channel: first.channel ?? channel, relPath: first.relPath };
}

/** Waits for some work, unless the signal is aborted first; the work continues then. */
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

/** Events between a question and its answer. */
export interface AskEvents extends WaitEvents {
  onDurable?: SendOptions['onDurable'];
  /** Called when the asker is interrupted, before the asking ends, with the state of the question. */
  onInterrupted?: (reached: Reached) => void;
  /** Called when the question is on the bus, or safely queued. */
  onSent?: (question: MessageRef, sent: Sent) => void;
}
