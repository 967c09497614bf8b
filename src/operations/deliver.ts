import { CrosstalkError, reasonOf } from '../errors.ts';
import { Checkout } from '../bus/checkout.ts';
import type { PublishOutcome } from '../bus/publisher.ts';
import { ask } from '../dispatcher/socket/wake.ts';
import { inBulk } from '../protocol/outgoing.ts';
import type { Commit } from '../protocol/commit.ts';
import { directPublisher, type Context } from './context.ts';

/** Whether something is on the remote, or waits in the outbox and why. */
export type Delivered = { published: true; direct: boolean } | { published: false; reason: string };

/** A dispatcher that takes longer than this has the message safely in the outbox anyway. */
const ANSWER_LIMIT_MS = 30_000;

/**
 * Puts commits on the bus: recorded first, then published. What cannot be pushed now stays recorded.
 *
 * @param options `wait`: false returns as soon as it is durable
 */
export async function deliver(
  context: Context,
  commits: Commit[],
  { wait }: { wait: boolean },
): Promise<Delivered> {
  const id = context.newId();
  await recordEntry(context, id, commits);
  return publish(context, id, { wait });
}

/**
 * Puts commits into the outbox: once that is done nothing of them is lost.
 *
 * @param id of the outbox entry
 * @throws CrosstalkError `refused` where nothing can be written; nothing is then
 */
export async function recordEntry(
  { outbox, paths }: Context,
  id: string,
  commits: Commit[],
): Promise<void> {
  try {
    await outbox.put({ id, commits: inBulk(commits) });
  } catch (error) {
    throw new CrosstalkError(
      'refused',
      `cannot write to the state directory ${paths.root}: ${reasonOf(error)}; nothing was sent: make room, or give another with CROSSTALK_STATE_DIR`,
      { cause: error },
    );
  }
}

/**
 * Publishes what was recorded: through the running dispatcher, or by this process when there is none
 * (invariant 2).
 *
 * @param options `wait`: false does not wait for the push; `unreachable`: why the remote was not
 *   reached a moment ago, it is not asked again at once
 */
export async function publish(
  context: Context,
  id: string,
  options: { wait: boolean; unreachable?: string | undefined },
): Promise<Delivered> {
  const { paths } = context;
  if (!options.wait) {
    if (context.publish === undefined) await ask(paths.socket, { op: 'wake' }, 1000);
    else void context.publish(id).catch(() => undefined);
    return { published: false, reason: 'not waiting, as asked' };
  }
  if (options.unreachable !== undefined) {
    return { published: false, reason: options.unreachable };
  }
  if (context.publish !== undefined)
    return delivered(await untilTried(context.publish(id)), { direct: false });
  const asked = await ask(paths.socket, { op: 'publish', ids: [id] }, ANSWER_LIMIT_MS);
  if (asked.kind === 'timeout') {
    return {
      published: false,
      reason: `the dispatcher has not pushed it within ${String(ANSWER_LIMIT_MS / 1000)} s`,
    };
  }
  const outcome =
    asked.kind === 'answered'
      ? asked.answer.outcomes?.[id]
      : await untilTried(directPublisher(context).publish(id));
  return delivered(outcome, { direct: asked.kind === 'nobody' });
}

/** It is in the outbox already: whatever keeps it from leaving just now, it is queued. */
async function untilTried(publishing: Promise<PublishOutcome>): Promise<PublishOutcome> {
  try {
    return await publishing;
  } catch (error) {
    return { published: false, failure: { kind: 'other', reason: reasonOf(error) } };
  }
}

function delivered(
  outcome: PublishOutcome | undefined,
  { direct }: { direct: boolean },
): Delivered {
  if (outcome?.published === true) return { published: true, direct };
  if (outcome?.failure.kind === 'set_aside') {
    throw new CrosstalkError(
      'refused',
      `not published: ${outcome.failure.reason}; it is kept aside, see it with: crosstalk status, try it again with: crosstalk sync --retry`,
    );
  }
  return { published: false, reason: outcome?.failure.reason ?? 'the dispatcher gave no reason' };
}

/** Like {@link deliver} for set-up changes, which the caller reports as done only when they are. */
export async function deliverOrNote(context: Context, commits: Commit[]): Promise<Delivered> {
  const delivered = await deliver(context, commits, { wait: true });
  if (!delivered.published) {
    context.note(
      `queued, not on the remote yet: ${delivered.reason}; it is pushed by the dispatcher or by: crosstalk sync`,
    );
  }
  // A dispatcher keeps it readable itself.
  if (context.publish === undefined) await new Checkout(context.transport, context.now).follow();
  return delivered;
}

/** For a process without a dispatcher beside it: keeps the checkout readable and the objects packed. */
export async function followCheckout({ transport, now }: Context): Promise<void> {
  await new Checkout(transport, now).follow();
  await transport.maintain().catch(() => undefined);
}
