import type { OutboxEntry } from '../state/outbox.ts';
import type { Failure } from '../transport/transport.ts';

/** How entries are pushed that could not be pushed together; not in parts where that is no help. */
export function partsOf(entries: readonly OutboxEntry[], kind: Failure['kind']): OutboxEntry[][] {
  if (kind === 'rejected') return entries.map((entry) => [entry]);
  if (kind !== 'too_large') return [];
  const middle = Math.ceil(entries.length / 2);
  return [entries.slice(0, middle), entries.slice(middle)];
}
