import { messageFile } from '../protocol/layout.ts';
import type { Delivery } from '../protocol/mailbox.ts';
import type { Transport } from '../transport/transport.ts';

/** Sorts deliveries in the order in which history added their messages, since a commit or the root. */
export async function inCommitOrder<Found extends Pick<Delivery, 'channel' | 'relPath'>>(
  transport: Pick<Transport, 'order'>,
  since: string | undefined,
  tip: string,
  deliveries: Found[],
): Promise<Found[]> {
  const paths = [
    ...new Set(deliveries.map(({ channel, relPath }) => messageFile(channel, relPath))),
  ];
  if (paths.length < 2) return deliveries;
  const order = await transport.order(since, tip, paths);
  const position = new Map(order.map((path, index) => [path, index]));
  const at = ({ channel, relPath }: Found): number =>
    position.get(messageFile(channel, relPath)) ?? 0;
  return [...deliveries].sort((a, b) => at(a) - at(b));
}
