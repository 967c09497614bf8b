import { messageKey } from '../../protocol/message-ref.ts';
import { activation } from '../../protocol/activation.ts';
import { EVERYONE } from '../../protocol/address.ts';
import type { Trace } from './recent.ts';

/** A message that wakes an actor, and when it was answered. */
export interface Errand {
  message: Trace;
  /** The addressee. */
  actor: string;
  /** The actor's first message that names it in `re` or `cause`; undefined while there is none. */
  answer: Trace | undefined;
}

/**
 * Which messages woke an actor, and what answered them, told from the messages alone (protocol.md §3).
 * What was written before the first of them is not known here, nor an actor's silence.
 *
 * @param traces by time, the oldest first
 * @param served the names that hosts run
 */
export function errandsOf(traces: readonly Trace[], served: ReadonlySet<string>): Errand[] {
  const senders = new Map(traces.map((trace) => [messageKey(trace), trace.from]));
  const answers = new Map<string, Trace>();
  for (const trace of traces) {
    for (const relPath of [...trace.re, ...trace.cause]) {
      const key = `${messageKey({ channel: trace.channel, relPath })} ${trace.from}`;
      if (!answers.has(key)) answers.set(key, trace);
    }
  }
  return traces.flatMap((message) => {
    const senderOf = (relPath: string): string | undefined =>
      senders.get(messageKey({ channel: message.channel, relPath }));
    const names = new Map(message.to.map(({ name, host }) => [name, host]));
    return [...names].flatMap(([actor, host]) => {
      if (actor === EVERYONE || !served.has(actor)) return [];
      const wakes = activation(message, actor, host ?? '', senderOf);
      const key = `${messageKey(message)} ${actor}`;
      return wakes.wakes ? [{ message, actor, answer: answers.get(key) }] : [];
    });
  });
}
