import { CrosstalkError } from '../../errors.ts';
import type { SideFiles } from '../../state/side-files.ts';
import type { Surroundings } from '../locate.ts';
import { askToSend, isHeard, listenerFor, type Answered } from './ask-to-send.ts';
import type { Attachment } from './attachment.ts';
import type { DispatcherPlace } from './early-answer.ts';
import type { HandedSend } from './handed.ts';
import type { Sent } from './input.ts';

/** What the sender learns meanwhile. */
interface Heard {
  /** Receives notes for the operator, one line each. */
  note: (line: string) => void;
  /** Called once the dispatcher was asked; the message is on its way then. */
  onAsked?: (dispatcher: DispatcherPlace) => void;
}

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
  const listener = listenerFor(surroundings, transport);
  if (listener === undefined) return undefined;
  const { root } = listener.state;
  const kept = attachments.length === 0 ? undefined : root;
  if (kept !== undefined) {
    if (!isHeard(listener)) return undefined;
    await keepFor(kept, request.id, attachments);
  }
  const answer = await askToSend(listener, request, () => onAsked?.(listener.state));
  // A dispatcher that is late may need them yet, and what is held waits for a person with its files.
  const isKept =
    answer === 'timeout' || answer?.sent !== undefined || answer?.error?.code === 'held';
  if (kept !== undefined && !isKept) await (await sideFilesIn(kept)).remove(request.id);
  return outcomeOf(answer, note);
}

/**
 * What became of a `send` that was passed on, as {@link handOver} returns it.
 *
 * @throws CrosstalkError whatever the dispatcher's `send` threw
 */
export function outcomeOf(
  answer: Answered,
  note: (line: string) => void,
): Sent | 'timeout' | undefined {
  if (answer === undefined || answer === 'timeout') return answer;
  for (const line of answer.notes) note(line);
  if (answer.error !== undefined) throw new CrosstalkError(answer.error.code, answer.error.message);
  return answer.sent && { ...answer.sent, ...(answer.since && { since: answer.since }) };
}

async function keepFor(
  root: string,
  id: string,
  attachments: readonly Attachment[],
): Promise<void> {
  const files = await sideFilesIn(root);
  for (const { file, bytes } of attachments) await files.put(id, file.sha256, bytes);
}

/** Loaded only for a message with files: a command that hands its message over needs little else. */
async function sideFilesIn(root: string): Promise<SideFiles> {
  const { SideFiles } = await import('../../state/side-files.ts');
  return new SideFiles(root);
}
