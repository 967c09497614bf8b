import { realpath } from 'node:fs/promises';
import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import { findEar } from '../../dispatcher/socket/ear.ts';
import { likelyState } from '../../state/directory.ts';
import type { SideFiles } from '../../state/side-files.ts';
import { locateTransport, type Surroundings } from '../locate.ts';
import { parseSendAnswer } from './answer.ts';
import type { Attachment } from './attachment.ts';
import type { DispatcherPlace } from './early-answer.ts';
import { sendOp, type HandedSend } from './handed.ts';
import type { Sent } from './input.ts';

/** What the sender learns meanwhile. */
interface Heard {
  /** Receives notes for the operator, one line each. */
  note: (line: string) => void;
  /** Called once the dispatcher was asked; the message is on its way then. */
  onAsked?: (dispatcher: DispatcherPlace) => void;
}

/** Milliseconds after which the dispatcher is not waited for any more. */
export const ANSWER_LIMIT_MS = 30_000;

/**
 * Passes a `send` to the dispatcher of this machine, which already has everything it needs, so that
 * the command itself starts no git and reads nothing.
 *
 * The bytes of attached files are kept beside the outbox first, under the id of its entry, where the
 * dispatcher finds them: a socket is no place for megabytes, and a path could change meanwhile.
 *
 * Nothing is lost or duplicated if the dispatcher dies meanwhile: the command then does the same
 * itself, under the same ids, and what was already published is recognised by its path.
 *
 * @returns undefined when no dispatcher could be asked, `timeout` when it did not answer in time
 * @throws CrosstalkError whatever the dispatcher's `send` threw
 */
export async function handOver(
  surroundings: Surroundings,
  transport: string | undefined,
  request: Omit<HandedSend, 'dir'>,
  attachments: readonly Attachment[],
  { note, onAsked }: Heard,
): Promise<Sent | 'timeout' | undefined> {
  const { env } = surroundings;
  const dir = await realpath(await locateTransport(surroundings, transport));
  const state = await likelyState(env, dir);
  if (state === undefined) return undefined;
  const { socket, outbox } = state;
  const op = sendOp(request.input);
  const kept = attachments.length === 0 ? undefined : outbox;
  if (kept !== undefined) {
    if ((await findEar(socket)).kind !== 'found') return undefined;
    await keepFor(kept, request.id, attachments);
  }
  const asked = await ask(
    socket,
    { op, request: { ...request, dir } },
    ANSWER_LIMIT_MS,
    undefined,
    () => onAsked?.(state),
  );
  if (asked.kind === 'timeout') return 'timeout';
  const answer = asked.kind === 'answered' ? parseSendAnswer(asked.answer.send) : undefined;
  // What is held waits for a person with its files.
  const isKept = answer?.sent !== undefined || answer?.error?.code === 'held';
  if (kept !== undefined && !isKept) await (await sideFilesOf(kept)).remove(request.id);
  if (answer === undefined) return undefined;
  for (const line of answer.notes) note(line);
  if (answer.error !== undefined) throw new CrosstalkError(answer.error.code, answer.error.message);
  return answer.sent && { ...answer.sent, ...(answer.since && { since: answer.since }) };
}

async function keepFor(
  outbox: string,
  id: string,
  attachments: readonly Attachment[],
): Promise<void> {
  const files = await sideFilesOf(outbox);
  for (const { file, bytes } of attachments) await files.put(id, file.sha256, bytes);
}

/** Loaded only for a message with files: a command that hands its message over needs little else. */
async function sideFilesOf(outbox: string): Promise<SideFiles> {
  const { Outbox } = await import('../../state/outbox.ts');
  return new Outbox(outbox).files;
}
