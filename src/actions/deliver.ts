import { CrosstalkError, reasonOf } from '../errors.ts';
import type { PublishOutcome } from '../bus/publisher.ts';
import { fenced } from '../dispatcher/pools/fence.ts';
import { ask } from '../dispatcher/socket/wake.ts';
import { inBulk, type Commit } from '../protocol/outgoing.ts';
import { saidSecrets } from '../protocol/text/secrets.ts';
import { directPublisher, type Context } from './context.ts';
import { findLostMail } from './lost-mail.ts';
import { queuedLine } from '../present/state.ts';
import { refusesPush } from '../transport/git/failure.ts';

/** The outcome of a delivery: it is on the remote, or waits in the outbox for a reason. */
export type Delivered =
  { published: true; direct: boolean } | { published: false; reason: string; isRefused?: boolean };

/** Milliseconds to wait for a dispatcher; one that takes longer has the message safely in the outbox. */
const ANSWER_LIMIT_MS = 30_000;

/**
 * Puts commits on the bus: first records them, then publishes them. Commits that cannot be pushed now
 * stay recorded.
 *
 * @param options `wait`: false returns as soon as the commits are durable; `allowSecret` as for
 *   {@link recordEntry}
 * @throws CrosstalkError as {@link recordEntry} does
 */
export async function deliver(
  context: Context,
  commits: Commit[],
  { wait, allowSecret = false }: { wait: boolean; allowSecret?: boolean },
): Promise<Delivered> {
  const id = context.newId();
  await recordEntry(context, id, commits, { allowSecret });
  return publish(context, id, { wait });
}

/**
 * Puts commits into the outbox; after that none of them can be lost.
 *
 * An entry that seems to contain a secret is held immediately, so that its writer gets the error, and so
 * that a run which sends it again without the secret has not sent it twice. An entry that cannot be
 * searched is recorded as usual: the publisher does not push it, and reports the reason.
 *
 * @param id the id of the outbox entry
 * @param options `allowSecret`: a person releases it whatever its content
 * @throws CrosstalkError `refused` when they cannot be written, in which case nothing is written, and
 *   `held` when they contain a secret
 */
export async function recordEntry(
  context: Context,
  id: string,
  commits: Commit[],
  { allowSecret = false }: { allowSecret?: boolean } = {},
): Promise<void> {
  const { outbox, paths, screen } = context;
  const made = { id, commits: inBulk(commits), ...(allowSecret && { allowed: true as const }) };
  const entry = fenced(made, { requires: context.fence ?? [], files: [] });
  const found = await screen.look(entry).catch(() => []);
  try {
    if (found.length > 0) await outbox.hold(entry, found, context.now().toISOString());
    else await outbox.put(entry);
  } catch (error) {
    if (error instanceof CrosstalkError) throw error;
    throw new CrosstalkError(
      'refused',
      `cannot write to the state directory ${paths.root}: ${reasonOf(error)}; nothing was sent: make room, or give another with CROSSTALK_STATE_DIR`,
      { cause: error },
    );
  }
  if (found.length > 0) throw heldError(context, id, saidSecrets(found));
}

/**
 * Publishes a recorded entry: through the running dispatcher, or from this process when none is running
 * (invariant 2).
 *
 * @param options `wait`: false does not wait for the push; `unreachable`: the reason why the remote was
 *   not reached a moment ago, so that it is not contacted again immediately; `withFiles`: whether it has
 *   attached files; `onPushing`: called once the push has started, for concurrent work
 */
export async function publish(
  context: Context,
  id: string,
  options: {
    wait: boolean;
    unreachable?: string | undefined;
    withFiles?: boolean;
    onPushing?: () => void;
  },
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
  if (context.publish !== undefined) {
    const publishing = context.publish(id);
    options.onPushing?.();
    return delivered(context, id, await untilTried(publishing), { direct: false });
  }
  const op = publishOp(options.withFiles === true ? 'with files' : 'plain');
  const asked = await ask(
    paths.socket,
    { op, ids: [id] },
    ANSWER_LIMIT_MS,
    undefined,
    options.onPushing,
  );
  if (asked.kind === 'timeout') {
    return {
      published: false,
      reason: `the dispatcher has not pushed it within ${String(ANSWER_LIMIT_MS / 1000)} s`,
    };
  }
  const outcome =
    asked.kind === 'answered'
      ? asked.answer.outcomes?.[id]
      : await publishHere(context, id, options);
  return delivered(context, id, outcome, { direct: asked.kind === 'nobody' });
}

/**
 * Returns the request to a dispatcher to publish. A dispatcher of an older version, which does not know
 * files, does not understand the request, and the entry is published by the requesting process.
 */
export function publishOp(entry: 'plain' | 'with files'): 'publish' | 'publish_files' {
  return entry === 'plain' ? 'publish' : 'publish_files';
}

/** Publishes from this process. */
async function publishHere(
  context: Context,
  id: string,
  { onPushing }: { onPushing?: () => void },
): Promise<PublishOutcome | undefined> {
  const publisher = directPublisher(context, onPushing);
  const outcome = await untilTried(publisher.publish(id));
  // A push that lost a race has seen the commit that the branch was set to.
  if (outcome.published && (await findLostMail(context)) > 0) await publisher.flush();
  return outcome;
}

/**
 * Waits for a publish. The entry is already in the outbox, so it counts as queued, whatever prevents the
 * push.
 */
async function untilTried(publishing: Promise<PublishOutcome>): Promise<PublishOutcome> {
  try {
    return await publishing;
  } catch (error) {
    return { published: false, failure: { kind: 'other', reason: reasonOf(error) } };
  }
}

function delivered(
  context: Context,
  id: string,
  outcome: PublishOutcome | undefined,
  { direct }: { direct: boolean },
): Delivered {
  if (outcome?.published === true) return { published: true, direct };
  if (outcome?.failure.kind === 'secret') throw heldError(context, id, outcome.failure.reason);
  if (outcome?.failure.kind === 'set_aside') {
    throw new CrosstalkError(
      'refused',
      `not published: ${outcome.failure.reason}; it is kept aside, see it with: crosstalk status, try it again with: crosstalk sync --retry`,
    );
  }
  if (outcome === undefined) return { published: false, reason: 'the dispatcher gave no reason' };
  const { kind, reason } = outcome.failure;
  return { published: false, reason, isRefused: refusesPush(kind) };
}

/**
 * Publishes set-up changes like {@link deliver}; the caller reports them as done only when they are
 * published.
 */
export async function deliverOrNote(
  context: Context,
  commits: Commit[],
  { allowSecret = false }: { allowSecret?: boolean } = {},
): Promise<Delivered> {
  const delivered = await deliver(context, commits, { wait: true, allowSecret });
  if (!delivered.published) {
    context.note(
      `${queuedLine(delivered.reason)}; it is pushed by the dispatcher or by: crosstalk sync`,
    );
  }
  // A dispatcher updates the checkout itself.
  if (context.publish === undefined) await context.checkout.follow();
  return delivered;
}

/** Updates the checkout and packs the objects, for a process without a running dispatcher. */
export async function followCheckout({ transport, checkout }: Context): Promise<void> {
  await checkout.follow();
  await transport.maintain().catch(() => undefined);
}

/**
 * Builds the error for the writer of an entry held because of a secret. A run receives its own options; a
 * person also the command to release it, which no run can use.
 *
 * @param id of the outbox entry
 * @param said the secrets found and their places, without showing them
 */
function heldError(
  { dispatch, agentMode }: Pick<Context, 'dispatch' | 'agentMode'>,
  id: string,
  said: string,
): CrosstalkError {
  const isPerson = dispatch.id === undefined && agentMode === undefined;
  const next = isPerson
    ? `send it again without that, or let it go as it is with: crosstalk outbox --allow-secret ${id}, or forget it with: crosstalk outbox --drop ${id}`
    : 'leave that out and send it again; what is held stays on this machine for its operator';
  return new CrosstalkError('held', `held, not sent, as it looks like a secret: ${said}; ${next}`);
}
