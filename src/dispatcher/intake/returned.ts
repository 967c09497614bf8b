import type { DispatcherApp } from '../../bus/app.ts';
import { type MessageRef, messageKey } from '../../protocol/message-ref.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { Lacking } from './lacking.ts';
import { scanAgain, type Audience, type Scan } from './scan.ts';
import { openAgain } from './still-open.ts';

interface ReturnedApp extends Pick<DispatcherApp, 'transport' | 'reader' | 'settled'> {
  lacking: Lacking;
}

/** What a scan found that may have been delivered before. */
export interface Returned {
  back: ReadonlySet<Delivery>;
  /** What of it is unanswered. */
  open: ReadonlySet<Delivery>;
  /** Deliveries that were handled without something that is now back. */
  due: Delivery[];
}

/**
 * Examines what a scan found that had been there before: whether it is unanswered now, and what was
 * handled while it was missing.
 */
export async function lookAtReturned(
  app: ReturnedApp,
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Returned> {
  const back = await returned(app, audience, tip, scan);
  if (back.size === 0) return { back, open: back, due: [] };
  const open = await openAgain(app, [...back], audience.host, tip);
  await app.lacking.markBack(open, tip);
  return { back, open, due: await app.lacking.dueFor(audience, tip) };
}

/**
 * The deliveries of a scan that may have been made and answered before: messages that were gone and
 * are back, and messages that answer one of ours that is back. The latter may have been there all
 * the time: they woke nobody while the message they answer was gone, so they are looked up and
 * added to the scan.
 */
async function returned(
  app: ReturnedApp,
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Set<Delivery>> {
  const { reader, settled } = app;
  const back = await settled.back(scan.deliveries);
  const found = new Set(scan.deliveries.map(messageKey));
  const places: MessageRef[] = [];
  for (const [channel, messages] of scan.own) {
    const ours = await settled.back(messages.map(({ relPath }) => ({ channel, relPath })));
    if (ours.size === 0) continue;
    const asked = new Set([...ours].map(({ relPath }) => relPath));
    // They may stand anywhere: the clock of whoever answered may be days behind.
    for await (const some of reader.headers(tip, channel))
      for (const { relPath, message } of some)
        if (
          message.re.some((named) => asked.has(named)) &&
          !found.has(messageKey({ channel, relPath }))
        )
          places.push({ channel, relPath });
  }
  const { deliveries } = await scanAgain(app, audience, tip, places);
  for (const delivery of deliveries) {
    scan.deliveries.push(delivery);
    back.add(delivery);
  }
  return back;
}
