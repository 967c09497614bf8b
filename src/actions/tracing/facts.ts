import type { WebTaken } from '../../api/now.ts';
import type { WebDelay } from '../../api/now.ts';
import { CANCELLED } from '../../protocol/cancel.ts';
import { messageFile, type MessageRef } from '../../protocol/layout.ts';
import { isAnswer, markOf, showsReading } from '../../protocol/owed.ts';
import { cursorOf } from '../../state/cursors.ts';
import type { OpenPermission } from '../../state/permissions/open-permissions.ts';
import { deliveryOf, isElsewhere, stateOf, type GatedMail } from '../state/delivery.ts';
import type { Local } from '../state/local.ts';
import { Settled } from '../../state/settled.ts';
import { tipOf, type Context } from '../context.ts';
import type { Naming } from '../lookup/naming.ts';
import { takenAt } from '../lookup/taken.ts';
import { cancellationsOf, inForce } from '../lookup/taken-back.ts';

/** Facts about a message for one actor, each on its own, from this machine's point of view. */
export interface Facts {
  /** Whether it waits in this machine's outbox. */
  queued_here: boolean;
  /** Whether it is on the bus: at the remote, or on the local branch in solo mode. */
  on_the_bus: boolean;
  /**
   * Aliases of the hosts known to have seen it: this one by its own state, others by one of their messages that names
   * it in `re` or `cause`. Hosts do not report to each other which messages they have read.
   */
  seen_by: string[];
  running: boolean;
  /** Paths of the actor's messages that answer it; a word on the way to an answer is none. */
  answered_by: string[];
  /** Paths of the notices that it came to nothing. */
  failed_in: string[];
  /** Paths of the message that took it back, and of the actor's notice that it did nothing for it. */
  cancelled_in: string[];
  /** Paths of the tasks that the actor delegated because of it, and of its interim messages because of an answer. */
  delegated_in: string[];
  /** Whether a run on this machine handled it and chose to give no answer. */
  silent: boolean;
  /**
   * Reason why it waits on this machine although its actor could run: `max_runs_per_hour`, `rate_limited` and so on.
   */
  parked: { reason: string; until: string } | null;
  /**
   * Names for whose answers it waits, where its actor is woken once for all answers to a question (`wake: all`), and
   * the latest time. It is one of these answers, or the question.
   */
  joining: { waits_for: string[]; until: string } | null;
  /** The plan that its actor has made of it, and who decides on that. */
  gated: GatedMail | null;
  /** Question of the run for permission, with its addressee and its end. */
  permission: Pick<OpenPermission, 'relPath' | 'approver' | 'tool' | 'until'> | null;
  /** Since when it runs, or why it failed or waits, and until when. */
  delay: WebDelay | null;
  /** Its dead letter on this machine, if any. */
  dead_letter: { id: string; state: string } | null;
  /** The host that has taken it; absent where no host needs to, and where none has. */
  taken?: WebTaken;
}

/**
 * Gathers the facts about a message.
 *
 * @param message `wakes`: whether it wakes the actor at all; `tier`: the one that it asks for; `asks`: whether it is a
 * question
 * @param naming finds the messages that name it
 */
export async function factsOf(
  context: Context,
  local: Local,
  ref: MessageRef,
  actor: string,
  {
    wakes,
    asks: isAsking,
    tier = null,
  }: { wakes: boolean; asks: boolean; tier?: string | null | undefined },
  naming: Naming,
): Promise<Facts> {
  const { channel, relPath } = ref;
  const path = messageFile(channel, relPath);
  const at = context.now();
  const tip = await tipOf(context);
  const taken = wakes ? await takenAt(context.transport, tip, { ...ref, actor }) : undefined;
  const isAway = isElsewhere(taken, local.alias);
  const delivery = deliveryOf(local, ref, { actor, tier, taken }, at);
  const { run, letter, joining, asks, parked } = delivery;
  const settled = await isSettled(context, local.cursors, actor, ref);
  const running = run !== undefined;
  const waiting =
    wakes && !running && (letter === undefined ? !settled : letter.state === 'retrying');
  const mentions = await naming(ref, 're_or_cause');
  const own = mentions.filter(({ message }) => message.from === actor);
  const notices = own.filter(({ message }) => message.failed !== undefined);
  const stopped = notices.filter(({ message }) => message.failed?.reason === CANCELLED);
  const cancel = inForce(await cancellationsOf(context, ref, mentions));
  const answers = own.filter(({ message }) => message.re.includes(relPath) && isAnswer(message));
  const tasks = own.filter(
    ({ message }) =>
      !message.re.includes(relPath) &&
      (isAnswer(message) ||
        (!isAsking && showsReading({ ...message, mark: markOf(message) }, relPath))),
  );
  const here =
    wakes && ((settled && !isAway) || running || letter !== undefined) ? [local.alias] : [];
  const hosts = [...here, ...mentions.map(({ message }) => message.host)];
  const known = waiting ? delivery : { run, letter, held: undefined };
  return {
    queued_here: local.outbox.some(({ commits }) =>
      commits.some(({ files }) => files.some((file) => file.path === path)),
    ),
    on_the_bus: await isAt(context, tip, ref),
    seen_by: [...new Set(hosts.filter((host) => typeof host === 'string'))],
    running,
    answered_by: answers.map((mention) => mention.relPath),
    failed_in: notices.filter((one) => !stopped.includes(one)).map((one) => one.relPath),
    cancelled_in: [...(cancel ? [cancel] : []), ...stopped].map((one) => one.relPath),
    delegated_in: tasks.map((mention) => mention.relPath),
    silent: wakes && settled && !isAway && !running && own.length === 0 && letter === undefined,
    parked:
      parked === undefined || !waiting ? null : { reason: parked.reason, until: parked.until },
    gated: waiting ? (delivery.gate ?? null) : null,
    joining:
      joining === undefined || running || letter
        ? null
        : { waits_for: joining.waits_for, until: joining.until },
    permission: running && asks ? permissionFact(asks) : null,
    delay: stateOf(known, at).delay,
    dead_letter: letter === undefined ? null : { id: letter.id, state: letter.state },
    ...(taken && { taken }),
  };
}

/** Returns the question of a run for permission, as faces show it. */
export function permissionFact({
  relPath,
  approver,
  tool,
  until,
}: OpenPermission): NonNullable<Facts['permission']> {
  return { relPath, approver, tool, until };
}

/** Whether this machine has on record that an actor is done with a message. */
export async function isSettled(
  context: Context,
  cursors: Local['cursors'],
  actor: string,
  { channel, relPath }: MessageRef,
): Promise<boolean> {
  const cursor = cursorOf(cursors.get(actor), channel);
  if (cursor === undefined) return false;
  const delivery = { actor, channel, relPath };
  const settled = await new Settled(context.paths.root).of('settled', [delivery]);
  return settled.size > 0 || (cursor !== '' && (await isAt(context, cursor, delivery)));
}

async function isAt(
  { transport }: Context,
  commit: string,
  { channel, relPath }: MessageRef,
): Promise<boolean> {
  return (await transport.objects.read(`${commit}:${messageFile(channel, relPath)}`)) !== undefined;
}
