import { messageKey } from '../../protocol/layout.ts';
import { activation } from '../../protocol/activation.ts';
import { EVERYONE } from '../../protocol/address.ts';
import type { Trace } from './recent.ts';

/** A message that wakes an actor, and its answer. */
export interface Errand {
  message: Trace;
  /** The addressee. */
  actor: string;
  /**
   * The actor's first message that names it in `re` or `cause`; undefined while there is no such
   * message.
   */
  answer: Trace | undefined;
  /** Actor's notice that it failed for good, on any host. */
  failure: Trace | undefined;
}

/**
 * Determines which messages woke an actor and which ones answered them, from the messages alone (protocol.md §3).
 * Messages older than the first one given are not known here, and neither is an actor's silence.
 *
 * @param traces in the order of time, the oldest first
 * @param served the names that hosts run
 */
export function errandsOf(traces: readonly Trace[], served: ReadonlySet<string>): Errand[] {
  const senders = new Map(traces.map((trace) => [messageKey(trace), trace.from]));
  const answers = new Map<string, Trace>();
  const failures = new Map<string, Trace>();
  for (const trace of traces) {
    for (const relPath of [...trace.re, ...trace.cause]) {
      const key = `${messageKey({ channel: trace.channel, relPath })} ${trace.from}`;
      if (trace.mark === 'failure') failures.set(key, trace);
      else if (trace.mark !== 'interim' && !answers.has(key)) answers.set(key, trace);
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
      return wakes.wakes
        ? [{ message, actor, answer: answers.get(key), failure: failures.get(key) }]
        : [];
    });
  });
}
