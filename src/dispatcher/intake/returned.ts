import { type MessageRef, messageKey } from '../../protocol/message-ref.ts';
import { messageFile } from '../../protocol/layout.ts';
import type { Delivery, DeliveryState } from '../../protocol/mailbox.ts';
import type { Departed } from '../../state/departed.ts';
import type { Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import type { Known } from './known.ts';
import type { Lacking } from './lacking.ts';
import { scanAgain, type Audience, type Scan } from './scan.ts';
import { openAgain } from './still-open.ts';

interface Parts {
  transport: Transport;
  reader: MessageReader;
  departed: Departed;
}

/** How to handle deliveries that are back. */
export interface Returned {
  /** Whether it was already delivered and stays handled. */
  isHandled: (delivery: Delivery) => boolean;
  /** Deliveries that were handled without something that is now back. */
  due: Delivery[];
  /** The recorded state of a delivery. */
  stateOf: (delivery: Delivery) => DeliveryState;
}

/**
 * Examines what a scan found that had been there before: whether it is unanswered now, and what was
 * handled while it was missing.
 */
export async function lookAtReturned(
  parts: Parts & { known: Known; lacking: Lacking },
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Returned> {
  const again = await returned(parts, audience, tip, scan);
  if (again.size === 0) return { isHandled: () => false, due: [], stateOf: () => 'pending' };
  const unanswered = await openAgain(parts, [...again], audience.host, tip);
  const statesOf = await parts.known.states();
  await parts.lacking.markBack(unanswered, tip);
  const due = await parts.lacking.dueFor(audience, tip);
  const stateOf = await statesOf([...again, ...due]);
  const isHandled = (one: Delivery): boolean =>
    again.has(one) && one.rest !== true && (!unanswered.has(one) || stateOf(one) !== 'pending');
  return { isHandled, due, stateOf };
}

/**
 * The deliveries of a scan that may have been made and answered before: messages that were gone and
 * are back, and messages that answer one of ours that is back. The latter may have been there all
 * the time: they woke nobody while the message they answer was gone, so they are looked up and
 * added to the scan.
 */
export async function returned(
  parts: Parts,
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Set<Delivery>> {
  const { reader, departed } = parts;
  const isBack = (channel: string, relPath: string): boolean =>
    departed.has(messageFile(channel, relPath));
  const back = new Set(scan.deliveries.filter((one) => isBack(one.channel, one.relPath)));
  const found = new Set(scan.deliveries.map(messageKey));
  const places: MessageRef[] = [];
  for (const [channel, messages] of scan.own) {
    const ours = messages.flatMap(({ relPath }) => (isBack(channel, relPath) ? [relPath] : []));
    if (ours.length === 0) continue;
    const asked = new Set(ours);
    // They may stand anywhere: the clock of whoever answered may be days behind.
    for await (const some of reader.headers(tip, channel))
      for (const { relPath, message } of some)
        if (
          message.re.some((named) => asked.has(named)) &&
          !found.has(messageKey({ channel, relPath }))
        )
          places.push({ channel, relPath });
  }
  const { deliveries } = await scanAgain(parts, audience, tip, places);
  for (const delivery of deliveries) {
    scan.deliveries.push(delivery);
    back.add(delivery);
  }
  return back;
}
