import { chainLevels, type Lookup, linksIn } from '../causality.ts';
import { MAX_MESSAGE_BYTES, type Located, type Message } from '../message.ts';
import { isName } from '../names.ts';
import { markOf } from '../owed.ts';
import type { Subscription } from './subscription.ts';

/** A header has up to 64 KiB; the rest of a message is for its text. */
const MOST_TEXT = MAX_MESSAGE_BYTES - 64 * 1024;

/**
 * Whether a message is an answer on which something may follow: the final word to somebody else. A word on
 * the way, the notice of a failure, a plan, a new question in an old thread and a text that answers nobody
 * are none.
 */
export function isFinalAnswer(message: Message, lookup: Lookup): boolean {
  if (markOf(message) !== null || message.proposal === true || message.asks === true) return false;
  return message.re.some((ref) => {
    const asker = lookup(ref)?.from;
    return asker !== undefined && asker !== message.from;
  });
}

/** The names of the subscriptions that have fired in the chain behind a message. */
export function firedBehind(answer: Located, lookup: Lookup): Set<string> {
  const behind = chainLevels([answer], lookup).flat();
  return new Set(behind.flatMap(({ message }) => subscriptionOf(message)?.subscription ?? []));
}

/**
 * The most tasks that subscriptions may give because of one message that somebody sent, in all that comes
 * of it. Each may lead to several more; without a bound for the whole, a few files of somebody who can push
 * would make a machine work for ever, although each fires once in a chain.
 */
const MOST_BEHIND = 250;

/**
 * The subscription that has led to some messages: the one that has given one of them, or else the nearest one in
 * the chain behind them. Undefined where none has.
 */
export function ledBy(messages: readonly Located[], lookup: Lookup): string | undefined {
  for (const { message } of chainLevels(messages, lookup).flat()) {
    const given = subscriptionOf(message);
    if (given !== undefined) return given.subscription;
  }
  return undefined;
}

/** How many more tasks may follow on an answer, and all that comes of them. */
export function allowanceBehind(answer: Located, lookup: Lookup): number {
  const behind = chainLevels([answer], lookup).flat();
  return Math.min(MOST_BEHIND, ...behind.map(({ message }) => allowanceOf(message)));
}

/** How many tasks one of several that are given together may lead to: they share what is left. */
export function shareOf(count: number, allowance = MOST_BEHIND): number {
  return Math.max(0, Math.floor((allowance - count) / count));
}

function allowanceOf({ extra }: Message): number {
  const { subscription, allowance } = extra;
  const isOurs = isName(subscription) && typeof allowance === 'string';
  return isOurs && /^\d{1,4}$/.test(allowance) ? Number(allowance) : MOST_BEHIND;
}

/** What has happened: an answer in a channel, or an event. */
export type Happening =
  | { kind: 'answer'; channel: string; answer: Located }
  | { kind: 'event'; name: string; payload: string };

/** Where and when a task is written. */
interface Writing {
  /** The id of its channel. */
  channel: string;
  at: Date;
  /** The alias of the dispatcher that writes it; undefined where none does. */
  host?: string;
  /** How many tasks may follow on it, see {@link shareOf}. */
  allowance: number;
}

/** The task that a subscription gives, with the machine-made facts on its origin. */
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
  // Half of a character at the end is left out.
  const kept = new TextDecoder().decode(bytes.subarray(0, MOST_TEXT), { stream: true });
  return `${kept}\n\n(cut here: the whole has ${String(bytes.length)} bytes)\n`;
}

/** What a task says of the subscription that has given it; whoever can push can say so as well. */
export interface GivenBy {
  subscription: string;
  /** The event that it followed; absent for an answer, which is the cause of the task. */
  event?: string;
}

/** Reads what {@link taskOf} writes; undefined for any other message. */
export function subscriptionOf({ extra }: Pick<Message, 'extra'>): GivenBy | undefined {
  const { subscription, event } = extra;
  if (!isName(subscription)) return undefined;
  return isName(event) ? { subscription, event } : { subscription };
}
