import type { MessageReader } from '../../bus/message-reader.ts';
import { isAnswerTo, channelNamed } from '../../protocol/automation/fields.ts';
import type { Schedule } from '../../protocol/automation/schedule.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { relPathAt } from '../../protocol/layout.ts';
import type { Outbox } from '../../state/outbox.ts';

export interface StandingApp {
  reader: Pick<MessageReader, 'channels' | 'message' | 'since'>;
  /** Returns the deliveries of a channel that are not settled here, by their relPaths. */
  unsettled: (channel: string) => string[];
  outbox: Pick<Outbox, 'all' | 'held' | 'put'>;
  /** Returns the channel for a file that names none. */
  usualChannel: (channels: Channel[]) => Channel | undefined;
  now: () => Date;
}

/** Messages that are looked through for an answer, or for an occurrence that was sent before. */
const MOST_LOOKED_AT = 5000;
/** For so long a message to another machine counts as unanswered; nobody here knows its fate. */
const OPEN_MS = 24 * 3_600_000;

/** Returns the channel of a schedule at a commit, or the reason why there is none. */
export async function channelFor(
  { reader, usualChannel }: StandingApp,
  { channel }: Schedule,
  tip: string,
): Promise<{ id: string } | { problem: string }> {
  const channels = await reader.channels(tip);
  if (channel === undefined)
    return usualChannel(channels) ?? { problem: 'it names no channel, and there are several' };
  return channelNamed(channels, channel);
}

/**
 * Whether a message that was sent still waits for its answer.
 *
 * @param sent as `<channel id>/<relPath>`
 */
export async function isOpen(
  { outbox, unsettled, reader, now }: StandingApp,
  sent: string,
  tip: string,
): Promise<boolean> {
  const slash = sent.indexOf('/');
  const [channel, relPath] = [sent.slice(0, slash), sent.slice(slash + 1)];
  if (unsettled(channel).includes(relPath)) return true;
  const question = await reader.message(tip, channel, relPath);
  if (question === undefined) {
    // A message that looks like it contains a secret waits for a person, who may still release it. One that neither
    // waits nor is on the bus was removed from there, and nobody will answer it.
    const waiting = [...(await outbox.all()), ...(await outbox.held())];
    return waiting.some(({ commits }) =>
      commits.some(({ files }) => files.some(({ path }) => path.endsWith(`/${sent}`))),
    );
  }
  // One from the future was sent by a clock that was ahead: its answer stands before it, and is not found.
  if (Math.abs(now().getTime() - Date.parse(question.timestamp)) > OPEN_MS) return false;
  const later = await reader.since(tip, channel, relPath, MOST_LOOKED_AT);
  return !later.some(({ message }) => isAnswerTo(message, relPath));
}

/** Whether an occurrence is on the bus already, sent by this host with a key that it has lost since. */
export async function wasSent(
  { reader }: StandingApp,
  { name, host }: Schedule,
  channel: string,
  due: Date,
  tip: string,
): Promise<boolean> {
  const first = relPathAt(due, '00000000');
  const later = await reader.since(tip, channel, first, MOST_LOOKED_AT);
  return later.some(
    ({ message: { extra, host: writer } }) =>
      extra['schedule'] === name && extra['due'] === due.toISOString() && writer === host,
  );
}
