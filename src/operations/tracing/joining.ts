import { messageKey, type MessageRef } from '../../protocol/message-ref.ts';
import type { Heartbeat, Joining } from '../../state/heartbeat.ts';

/**
 * The answers that wait for others on this machine and belong to a message: it is one of them, or the
 * question that they lead to.
 */
export function joiningAbout(
  heartbeat: Pick<Heartbeat, 'joining'> | undefined,
  { channel, relPath }: MessageRef,
  actor: string,
  now: Date,
): Joining | undefined {
  const key = messageKey({ channel, relPath });
  return heartbeat?.joining?.find(
    (one) =>
      one.actor === actor &&
      Date.parse(one.until) > now.getTime() &&
      (one.questions.includes(key) || (one.channel === channel && one.messages.includes(relPath))),
  );
}
