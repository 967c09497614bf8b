import { type MessageRef, messageKey } from '../../protocol/message-ref.ts';
import { messageFile } from '../../protocol/layout.ts';
import type { Delivery, DeliveryState } from '../../protocol/mailbox.ts';
import type { Departed } from '../../state/departed.ts';
import type { Transport } from '../../transport/transport.ts';
import type { Archive } from '../../bus/archive.ts';
import type { Known } from './known.ts';
import type { Lacking } from './lacking.ts';
import { scanAgain, type Audience, type Scan } from './scan.ts';
import { openAgain } from './still-open.ts';

interface Parts {
  transport: Transport;
  archive: Archive;
  departed: Departed;
}

/** What becomes of deliveries that are back. */
export interface Returned {
  /** What was made already, and stays so. */
  isHandled: (delivery: Delivery) => boolean;
  /** What was settled once and is to be made again. */
  open: Delivery[];
  /** What was dealt with for want of something that is back. */
  due: Delivery[];
  /** What is on record of any. */
  stateOf: (delivery: Delivery) => DeliveryState;
}

/**
 * Looks at what a scan found and was there before: whether it is unanswered by now, and what was dealt
 * with while it was not there.
 */
export async function lookAtReturned(
  parts: Parts & { known: Known; lacking: Lacking },
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Returned> {
  const again = await returned(parts, audience, tip, scan);
  if (again.size === 0)
    return { isHandled: () => false, open: [], due: [], stateOf: () => 'pending' };
  const unanswered = await openAgain(parts, [...again], audience.host, tip);
  const stateOf = await parts.known.states();
  await parts.lacking.markBack(unanswered);
  const isHandled = (one: Delivery): boolean =>
    again.has(one) && one.rest !== true && (!unanswered.has(one) || stateOf(one) !== 'pending');
  const open = [...unanswered].filter((one) => !isHandled(one));
  return { isHandled, open, due: await parts.lacking.dueFor(audience, tip), stateOf };
}

/**
 * Of what a scan found the deliveries that may have been made and answered before: messages that were
 * gone and are back, and messages that answer one of ours that is back. Those may have been there all
 * the time: while what they answer was gone they woke nobody, so they are looked for, and added to the
 * scan.
 */
export async function returned(
  parts: Parts,
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Set<Delivery>> {
  const { archive, departed } = parts;
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
    for await (const some of archive.headers(tip, channel))
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
