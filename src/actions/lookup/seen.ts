import { existsSync } from 'node:fs';
import { EVERYONE } from '../../protocol/address.ts';
import type { Message } from '../../protocol/message.ts';
import { type MessageRef, relPathAt } from '../../protocol/layout.ts';
import { Seen } from '../../state/people/seen.ts';
import { tipOf, type Context } from '../context.ts';
import { newestFirst } from './arrivals.ts';

/** A message that was shown whole. */
export type ShownMessage = MessageRef & { message: Pick<Message, 'from' | 'to'> };

/**
 * Returns the record of messages seen on this machine. The first command of a person starts it, so that messages that
 * are there before, and older than somebody's last message, count as seen.
 */
export async function seenHere(context: Context): Promise<Seen> {
  const known = await Seen.load(context.paths.seen);
  if (known !== undefined) return known;
  const tip = await tipOf(context);
  const present = relPathAt(context.now(), '');
  const newest = new Map<string, string>();
  for (const { id } of await context.reader.channels(tip))
    for await (const [file] of newestFirst(context, tip, [id], '')) {
      if (file === undefined) continue;
      // A message dated later than now must not make somebody's next message the last one before the record.
      newest.set(id, file.relPath < present ? file.relPath : present);
      break;
    }
  const begun = Seen.begin(context.paths.seen, newest);
  // A record that cannot be written, as on a full disk, is started by the next command.
  await begun.save().catch(() => undefined);
  return begun;
}

/** Starts the record where there is none yet; a run starts none, and a command goes on without one. */
export async function beginSeen(context: Context): Promise<void> {
  if (isOfRun(context) || existsSync(context.paths.seen)) return;
  await seenHere(context).catch(() => undefined);
}

/**
 * Records that somebody has seen messages: of the shown ones, those that came for them. Nobody has seen the messages
 * that a run reads.
 */
export async function noteSeen(
  context: Pick<Context, 'agentMode' | 'dispatch' | 'paths'>,
  name: string,
  shown: readonly ShownMessage[],
): Promise<void> {
  if (!isOfRun(context)) await addSeen(context.paths.seen, name, shown);
}

/**
 * Does the same as {@link noteSeen} for a caller without an open transport. A message that cannot be recorded is
 * unread once more, and messages that are there before a record is started count as seen by then.
 *
 * @param path the file of the record
 */
export async function addSeen(
  path: string,
  name: string,
  shown: readonly ShownMessage[],
): Promise<void> {
  const theirs = shown.filter(({ message }) => isFor(message, name));
  if (theirs.length === 0) return;
  try {
    const seen = await Seen.load(path);
    if (seen?.add(name, theirs) === true) await seen.save();
  } catch {
    // As on a full disk.
  }
}

function isOfRun({ agentMode, dispatch }: Pick<Context, 'agentMode' | 'dispatch'>): boolean {
  return agentMode !== undefined || dispatch.id !== undefined;
}

/** Whether a message came for a name. */
export function isFor({ from, to }: Pick<Message, 'from' | 'to'>, name: string): boolean {
  return from !== name && to.some((address) => [name, EVERYONE].includes(address.name));
}
