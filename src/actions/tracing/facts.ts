import { CANCELLED } from '../../protocol/cancel.ts';
import { messageFile, type MessageRef } from '../../protocol/layout.ts';
import { isAnswer, markOf, showsReading } from '../../protocol/owed.ts';
import { cursorOf } from '../../state/cursors.ts';
import type { OpenPermission } from '../../state/permissions/open-permissions.ts';
import type { Facts } from '../../present/explained.ts';
import { deliveryOf, isElsewhere, stateOf } from '../state/delivery.ts';
import type { Local } from '../state/local.ts';
import { Settled } from '../../state/settled.ts';
import { tipOf, type Context } from '../context.ts';
import type { Naming } from '../lookup/naming.ts';
import { takenAt } from '../lookup/taken.ts';
import { cancellationsOf, inForce } from '../lookup/taken-back.ts';

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
