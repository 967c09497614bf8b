import { loadHeartbeat, type Heartbeat } from '../../state/heartbeat.ts';
import { DeadLetters, type DeadLetter } from '../../state/dead-letters.ts';
import { Holds, type Hold } from '../../state/holds.ts';
import { holderOf } from '../../state/lock.ts';
import { Pauses, type Pause } from '../../state/pause.ts';
import { Settled } from '../../state/settled.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Message } from '../../protocol/message.ts';
import { listGated, type GatedMail } from '../lookup/gated.ts';
import type { Context } from '../context.ts';

/** What this machine's own files say of mail that somebody waits for. They are read without git. */
export interface Local {
  /** Whether a dispatcher process holds the lock. */
  runs: boolean;
  /** The heartbeat of that process. */
  heartbeat: Heartbeat | undefined;
  paused: Pause | null;
  holds: readonly Hold[];
  letters: readonly DeadLetter[];
  /** Mail that waits for somebody to decide on a plan. */
  gated?: readonly GatedMail[];
}

/** Reads the files of this machine's state. */
export async function readLocal(context: Context): Promise<Local> {
  const { paths } = context;
  const [holder, heartbeat, paused, holds, letters, gated] = await Promise.all([
    holderOf(paths.root, 'dispatcher'),
    loadHeartbeat(paths.heartbeat),
    new Pauses(paths.root).get(),
    new Holds(paths.root).all(),
    new DeadLetters(paths.root).all(),
    listGated(context),
  ]);
  const runs = holder !== undefined;
  return {
    runs,
    heartbeat: runs && heartbeat?.pid === holder.pid ? heartbeat : undefined,
    paused: paused ?? null,
    holds,
    letters,
    gated,
  };
}

/** The dead letter of a message for an actor of this machine. */
export function letterOf(
  { letters }: Pick<Local, 'letters'>,
  { channel, relPath }: MessageRef,
  actor: string,
): DeadLetter | undefined {
  return letters.find(
    (one) => one.actor === actor && one.channel === channel && one.messages.includes(relPath),
  );
}

/** The messages that runs of an actor on this machine work on. */
export function workOf({ heartbeat }: Pick<Local, 'heartbeat'>, actor: string): string[] {
  const running = heartbeat?.running ?? [];
  return running.flatMap((run) => (run.actor === actor ? run.messages : []));
}

/** The run on this machine that works on a message for an actor. */
export function runOf(
  { heartbeat }: Pick<Local, 'heartbeat'>,
  { channel, relPath }: MessageRef,
  actor: string,
): Heartbeat['running'][number] | undefined {
  return heartbeat?.running.find(
    (one) => one.actor === actor && one.channel === channel && one.messages.includes(relPath),
  );
}

/** Those of some actors of this machine that are on record to have had nothing to say to a message. */
export async function silentHere(
  { paths }: Context,
  ref: MessageRef,
  actors: readonly string[],
): Promise<Set<string>> {
  const deliveries = actors.map((actor) => ({ ...ref, actor }));
  const silent = await new Settled(paths.root).of('silent', deliveries);
  return new Set([...silent].map(({ actor }) => actor));
}

/** The addressees of a question that are on record here to have had nothing to say to it. */
export async function silentTo(
  context: Context,
  { ref, question }: { ref: MessageRef; question: Message | undefined },
): Promise<string[]> {
  return [...(await silentHere(context, ref, question?.to.map(({ name }) => name) ?? []))];
}
