import type { Message } from '../../protocol/message.ts';
import { messageKey, type MessageRef } from '../../protocol/message-ref.ts';
import { Gates } from '../../state/gates.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { OpenPermissions } from '../../state/permissions/open-permissions.ts';
import type { Context } from '../context.ts';

/** What this machine has asked somebody to decide, and waits for: known from its own files alone. */
export interface WaitingHere {
  /** The alias under which its dispatcher has served last; undefined where none has. */
  host: string | undefined;
  /** Whether a message asks for a decision for which this machine waits. */
  waits: (ref: MessageRef) => boolean;
  /** What a decision on it is bound to, if this machine knows that without the message. */
  digestOf: (ref: MessageRef) => string | undefined;
  /** By approver, the proposals that wait for them, the newest first. */
  forApprover: (name: string) => MessageRef[];
}

/** Reads what waits for a decision on this machine. */
export async function waitingHere({ paths }: Pick<Context, 'paths'>): Promise<WaitingHere> {
  const [heartbeat, gates, permissions] = await Promise.all([
    loadHeartbeat(paths.heartbeat),
    new Gates(paths.root).all(),
    new OpenPermissions(paths.root).all(),
  ]);
  const waiting = [
    ...gates
      .filter(({ decided }) => decided === undefined)
      .map(({ approver, proposal }) => ({ approver, ...proposal })),
    ...permissions,
  ].sort((a, b) => (a.relPath < b.relPath ? 1 : -1));
  const digests = new Map(
    [...gates.map(({ proposal }) => proposal), ...permissions].map(
      (one) => [messageKey(one), one.digest] as const,
    ),
  );
  const keys = new Set(waiting.map(messageKey));
  return {
    host: heartbeat?.host ?? undefined,
    waits: (ref) => keys.has(messageKey(ref)),
    digestOf: (ref) => digests.get(messageKey(ref)),
    forApprover: (name) =>
      waiting
        .filter(({ approver }) => approver === name)
        .map(({ channel, relPath }) => ({ channel, relPath })),
  };
}

/** Whether this machine waits for a decision on a message, or the message says that it has asked. */
export function isOfHere(
  { host, waits, digestOf }: WaitingHere,
  { channel, relPath, message }: MessageRef & { message: Pick<Message, 'host'> },
): boolean {
  const ref = { channel, relPath };
  const isKnown = waits(ref) || digestOf(ref) !== undefined;
  return isKnown || (message.host !== undefined && message.host === host);
}
