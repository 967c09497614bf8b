import { placeOf } from '../protocol/layout.ts';
import { parseMessage } from '../protocol/message.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import { placeOfRef } from '../protocol/reference.ts';
import { messageKey, type MessageRef } from '../protocol/message-ref.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { CancelFound } from './intake/scan-findings.ts';

/** The most cancellations that wait for their message; anybody can push any number of them. */
const MAX_KEPT = 1000;

/**
 * Cancellations that came before the messages which they take back, or whose messages cannot be read
 * yet: two pushes need not arrive in their order, and a clone may lack content.
 */
export class EarlyCancels {
  readonly #kept = new Map<string, CancelFound>();

  keep(found: CancelFound): void {
    const { channel, message } = found;
    this.#kept.set(JSON.stringify([channel, message.from, message.host, message.cancels]), found);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
  }

  /** Takes out those whose message waits to be delivered by now. */
  due({ mailboxes }: Deliveries): CancelFound[] {
    if (this.#kept.size === 0) return [];
    const waiting = new Set(
      mailboxes.waiting().flatMap(({ messages }) => messages.map((one) => messageKey(one))),
    );
    const due: CancelFound[] = [];
    for (const [key, found] of this.#kept) {
      if (!waiting.has(messageKey(targetOf(found)))) continue;
      this.#kept.delete(key);
      due.push(found);
    }
    return due;
  }
}

/** The message that a cancellation takes back. */
export function targetOf({ channel, message }: CancelFound): MessageRef {
  return placeOfRef(channel, message.cancels ?? '');
}

/** What an entry of the outbox takes back. */
export function cancelsIn({ commits }: OutboxEntry): CancelFound[] {
  return commits
    .flatMap(({ files }) => files)
    .flatMap(({ path, content }) => {
      const place = placeOf(path);
      if (place.kind !== 'message' || !content.includes('\ncancels:')) return [];
      const parsed = parseMessage(Buffer.from(content));
      if (!parsed.ok || parsed.value.cancels === undefined) return [];
      return [{ channel: place.channel, relPath: place.relPath, message: parsed.value }];
    });
}
