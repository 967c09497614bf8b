import { ask } from '../dispatcher/wake.ts';
import type { CheckoutState } from '../transport/transport.ts';
import { directPublisher, type Context } from './context.ts';

export interface Synced {
  pushed: number;
  /** Entries that could not be pushed. */
  left: number;
  reason: string | null;
  checkout: CheckoutState;
  tip: string | null;
}

/** Pushes the outbox, brings news, fast-forwards the checkout where that is safe. */
export async function sync(context: Context): Promise<Synced> {
  const { outbox, transport, paths } = context;
  const refreshed = await transport.refresh();
  const waiting = await outbox.all();
  let reason = refreshed.ok ? null : refreshed.failure.reason;
  if (waiting.length > 0) {
    const ids = waiting.map(({ id }) => id);
    const asked = await ask(paths.socket, { op: 'publish', ids }, 60_000);
    if (asked.kind === 'nobody') {
      const publisher = directPublisher(context);
      await publisher.flush();
      reason = publisher.failing?.failure.reason ?? reason;
    } else if (asked.kind === 'answered') {
      for (const outcome of Object.values(asked.answer.outcomes ?? {})) {
        if (!outcome.published) reason = outcome.failure.reason;
      }
    }
  }
  const left = (await outbox.all()).filter(({ id }) =>
    waiting.some((entry) => entry.id === id),
  ).length;
  await transport.maintain();
  return {
    pushed: waiting.length - left,
    left,
    reason,
    checkout: await transport.fastForward(),
    tip: (await transport.tip()) ?? null,
  };
}
