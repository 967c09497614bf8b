import { chainLevels, type Lookup, linksIn } from '../causality.ts';
import { MAX_MESSAGE_BYTES, type Located, type Message } from '../message.ts';
import { isName } from '../layout.ts';
import { markOf } from '../owed.ts';
import type { Subscription } from './subscription.ts';

/** Most bytes of a task's text: a header has up to 64 KiB; the rest of a message is for its text. */
const MOST_TEXT = MAX_MESSAGE_BYTES - 64 * 1024;

/**
 * Whether a message is an answer that may trigger subscriptions: the final answer to somebody else. An interim message,
 * the notice of a failure, a plan, a new question in an old thread and a text that answers nobody are not.
 */
export function isFinalAnswer(message: Message, lookup: Lookup): boolean {
  if (markOf(message) !== null || message.proposal === true || message.asks === true) return false;
  return message.re.some((ref) => {
    const asker = lookup(ref)?.from;
    return asker !== undefined && asker !== message.from;
  });
}

/** Returns the names of the subscriptions that have fired in the chain behind a message. */
export function firedBehind(answer: Located, lookup: Lookup): Set<string> {
  const behind = chainLevels([answer], lookup).flat();
  return new Set(behind.flatMap(({ message }) => subscriptionOf(message)?.subscription ?? []));
}

/**
 * Most tasks of subscriptions that may descend from one message that somebody sent. Each task may lead to
 * several more; without a total limit, a few files of somebody who can push would make a machine work for
 * ever, although each fires once in a chain.
 */
const MOST_BEHIND = 250;

/**
 * Returns the subscription that led to some messages: the one that sent one of them, or else the nearest one
 * in the chain behind them. Undefined if there is none.
 */
export function ledBy(messages: readonly Located[], lookup: Lookup): string | undefined {
  for (const { message } of chainLevels(messages, lookup).flat()) {
    const given = subscriptionOf(message);
    if (given !== undefined) return given.subscription;
  }
  return undefined;
}

/** Returns the number of tasks that may still descend from an answer. */
export function allowanceBehind(answer: Located, lookup: Lookup): number {
  const behind = chainLevels([answer], lookup).flat();
  return Math.min(MOST_BEHIND, ...behind.map(({ message }) => allowanceOf(message)));
}

/** Returns the number of tasks that may descend from each of several simultaneous ones: they share the rest. */
export function shareOf(count: number, allowance = MOST_BEHIND): number {
  return Math.max(0, Math.floor((allowance - count) / count));
}

function allowanceOf({ extra }: Message): number {
  const { subscription, allowance } = extra;
  const isOurs = isName(subscription) && typeof allowance === 'string';
  return isOurs && /^\d{1,4}$/.test(allowance) ? Number(allowance) : MOST_BEHIND;
}

/** Trigger of a subscription: an answer in a channel, or an event. */
export type Happening =
  | { kind: 'answer'; channel: string; answer: Located }
  | { kind: 'event'; name: string; payload: string };

/** Place and time of writing a task. */
interface Writing {
  /** The id of its channel. */
  channel: string;
  at: Date;
  /** The alias of the dispatcher that writes it; undefined for another writer. */
  host?: string;
  /** Number of tasks that may descend from it, see {@link shareOf}. */
  allowance: number;
}

/** Composes the task of a subscription, with the machine-made facts on its origin. */
export function taskOf(
  { name, to, from, tier, body }: Subscription,
  happening: Happening,
  { channel, at, host, allowance }: Writing,
): Message {
  const links =
    happening.kind === 'answer'
      ? linksIn(channel, happening.channel, [], [happening.answer.relPath])
      : { re: [], cause: [], origin: [] };
  const { origin, ...rest } = links;
  return {
    from,
    to,
    type: 'text',
    timestamp: at.toISOString(),
    ...rest,
    ...(origin.length > 0 && { origin }),
    ...(tier !== undefined && { tier }),
    ...(host !== undefined && { host }),
    extra: {
      subscription: name,
      ...(happening.kind === 'event' && { event: happening.name }),
      allowance: String(allowance),
    },
    body: textOf(body, happening),
  };
}

function textOf(body: string, happening: Happening): string {
  const payload = happening.kind === 'answer' ? happening.answer.message.body : happening.payload;
  const parts = [body.trimEnd(), payload].filter((part) => part.trim() !== '');
  const text =
    parts.length > 0 || happening.kind === 'answer'
      ? parts.join('\n\n')
      : `The event ${happening.name} has no payload.\n`;
  const bytes = Buffer.from(text);
  if (bytes.length <= MOST_TEXT) return text;
  // A character cut in half at the end is left out.
  const kept = new TextDecoder().decode(bytes.subarray(0, MOST_TEXT), { stream: true });
  return `${kept}\n\n(cut here: the whole has ${String(bytes.length)} bytes)\n`;
}

/** A task's claim about the subscription that sent it; anybody who can push can make it. */
export interface GivenBy {
  subscription: string;
  /** The event that caused it; absent for an answer, which is the cause of the task. */
  event?: string;
}

/** Parses the facts that {@link taskOf} writes; undefined for any other message. */
export function subscriptionOf({ extra }: Pick<Message, 'extra'>): GivenBy | undefined {
  const { subscription, event } = extra;
  if (!isName(subscription)) return undefined;
  return isName(event) ? { subscription, event } : { subscription };
}
