import { ask } from '../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../errors.ts';
import { shown } from '../protocol/text/result.ts';
import { parseWindow } from '../protocol/window.ts';
import { keptRef } from '../transport/clone/branches.ts';
import type { CheckoutState } from '../transport/transport.ts';
import type { PublishOutcome } from '../bus/publish-waiters.ts';
import { hasFiles } from '../state/outbox.ts';
import { directPublisher, refreshed, tipOf, type Context } from './context.ts';
import { decideLoss, findLostMail } from './lost-mail.ts';
import { publishOp } from './deliver.ts';

export interface Synced {
  pushed: number;
  /** Number of entries that could not be pushed, or were set aside. */
  left: number;
  /** Number of entries that are held because they seem to contain a secret. */
  held: number;
  reason: string | null;
  checkout: CheckoutState;
  /** Days of messages that the checkout shows, as `7d`, or `all`. */
  window: string;
  tip: string | null;
  /** Number of damaged objects of the clone that were removed, to be fetched again; absent for none. */
  mended?: number;
  /** Number of lost files that were put into the outbox, or given up, as requested; absent without a request. */
  decided?: number;
}

/**
 * Pushes the outbox, fetches news, and fast-forwards the checkout if that is safe.
 *
 * @param options `window`: from now on, the days of messages that the checkout shows, such as `7d`, or
 *   `all`; `retry`: whether to retry entries that were set aside; `loss`: the decision on files that a
 *   remote has lost
 * @throws CrosstalkError `usage` for an invalid window
 */
export async function sync(
  context: Context,
  {
    window,
    retry = false,
    loss,
  }: {
    window?: string | undefined;
    retry?: boolean;
    loss?: 'republish' | 'accept' | undefined;
  } = {},
): Promise<Synced> {
  const { outbox, transport, paths } = context;
  if (retry) await outbox.restore();
  if (window !== undefined) await setWindow(context, window);
  let news = await refreshed(context);
  // An earlier process that fetched may have been killed before this search, or had no room to write.
  await findLostMail(context);
  const decided = loss && (await decideLoss(context, loss));
  const waiting = await outbox.all();
  let reason: string | null = null;
  if (waiting.length > 0) {
    const ids = waiting.map(({ id }) => id);
    const op = publishOp(waiting.some(hasFiles) ? 'with files' : 'plain');
    let answered = await ask(paths.socket, { op, ids }, 60_000);
    // The dispatcher may have begun before another bus made room for this one, which this process has just seen.
    const isBehind = (one: PublishOutcome): boolean =>
      !one.published && one.failure.kind === 'another_bus';
    if (
      news.ok &&
      answered.kind === 'answered' &&
      Object.values(answered.answer.outcomes ?? {}).some(isBehind)
    )
      answered = await ask(paths.socket, { op, ids }, 60_000);
    if (answered.kind === 'nobody') {
      const publisher = directPublisher(context);
      await publisher.flush();
      if ((await findLostMail(context)) > 0) await publisher.flush();
      reason = publisher.failing?.reason ?? reason;
    } else if (answered.kind === 'answered') {
      for (const outcome of Object.values(answered.answer.outcomes ?? {})) {
        // Held entries are counted below.
        if (!outcome.published && outcome.failure.kind !== 'secret')
          reason = outcome.failure.reason;
      }
    }
  }
  // The obstacle of the fetch may be gone by now, such as a stale lock.
  if (!news.ok && waiting.length > 0 && reason === null)
    news = {
      ...(await refreshed(context)),
      ...(news.mended !== undefined && { mended: news.mended }),
    };
  if (!news.ok) reason ??= news.failure.reason;
  const asked = new Set(waiting.map(({ id }) => id));
  const aside = (await outbox.aside()).filter(({ id }) => asked.has(id));
  const held = await outbox.held();
  const heldNow = held.filter(({ id }) => asked.has(id)).length;
  const waits = (await outbox.all()).filter(({ id }) => asked.has(id)).length;
  const left = waits + aside.length + heldNow;
  reason ??= aside[0]?.reason ?? null;
  await transport.maintain().catch(() => undefined);
  return {
    pushed: waiting.length - left,
    left,
    held: held.length,
    reason,
    checkout: await context.checkout.follow(),
    window: transport.window ?? 'all',
    tip: (await transport.tip()) ?? null,
    ...(news.mended !== undefined && { mended: news.mended }),
    ...(decided !== undefined && { decided }),
  };
}

/**
 * Puts the bus back on a remote that has lost it, or has another one in its place, which is kept under another ref.
 *
 * @param confirm shows the part that would be put back, and asks
 * @returns false when it was declined
 * @throws CrosstalkError `refused` when the remote has it, or there is no remote; `git_failed`
 */
export async function recreate(
  context: Context,
  confirm: (what: string) => Promise<boolean>,
): Promise<boolean> {
  const { transport } = context;
  if (transport.origin === undefined)
    throw new CrosstalkError('refused', 'this transport has no remote; nothing was lost there');
  const news = await refreshed(context);
  if (news.ok)
    throw new CrosstalkError(
      'refused',
      `the remote has ${transport.remoteRef}; there is nothing to put back`,
    );
  const { kind, reason, commit: other } = news.failure;
  if (kind !== 'no_branch' && other === undefined)
    throw new CrosstalkError('git_failed', `could not ask the remote: ${reason}`);
  const tip = await tipOf(context);
  const where = `${transport.remoteRef} at ${transport.origin}, at the commit ${tip}`;
  const instead =
    other === undefined
      ? ''
      : `, in the place of another bus, whose mail nobody is served from then on; what is there, ${other}, is kept as ${keptRef(transport.remoteRef, other)}`;
  if (!(await confirm(`${where}${instead}`))) return false;
  const failure = await transport.pushTip(other === undefined ? 'anew' : { over: other });
  if (failure === undefined) return true;
  throw new CrosstalkError('git_failed', `cannot put the bus back: ${failure.reason}`);
}

/**
 * Returns the number of days of a `--window`; undefined for all.
 *
 * @throws CrosstalkError `usage` for an invalid one
 */
export function daysOf(window: string): number | undefined {
  const days = parseWindow(window);
  if (days !== null) return days;
  throw new CrosstalkError(
    'usage',
    `--window ${shown(window)} is no number of days, such as 7d; give all for everything`,
  );
}

/** Stores the window in this clone's configuration, which the dispatcher reads too. */
async function setWindow(context: Context, window: string): Promise<void> {
  daysOf(window);
  await context.transport.configure('crosstalk.window', window);
}
