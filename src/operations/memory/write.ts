import { CrosstalkError } from '../../errors.ts';
import {
  formatMemory,
  memoryFileAt,
  parseMemory,
  type Memory,
} from '../../protocol/files/memory.ts';
import { memoryFile } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES } from '../../protocol/message.ts';
import { isName } from '../../protocol/names.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import type { Context } from '../context.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';

export interface AddedMemory {
  file: string;
  memory: Memory;
  delivered: Delivered;
}

/**
 * Writes a memory in a commit of its own, under a unique name.
 *
 * @param by its writer, who is the author of the commit
 * @throws CrosstalkError `usage` for one that is too large as a whole or above its text; nothing is
 *   written then
 */
export async function writeMemory(
  context: Context,
  memory: Memory,
  { at, by, allowSecret }: { at: Date; by: string; allowSecret: boolean },
): Promise<AddedMemory> {
  const content = formatMemory(memory);
  assertReadable(content);
  const file = memoryFileAt(at, context.suffix());
  const { host } = context.dispatch;
  const commit = {
    at: at.toISOString(),
    author: authorOf(by, isName(host) ? host : context.hostname),
    subject: `crosstalk: memory from ${by}`,
    files: [{ path: memoryFile(file), content }],
  };
  return { file, memory, delivered: await deliverOrNote(context, [commit], { allowSecret }) };
}

/** Refuses a note that nobody could read, as the notes that it should replace would stay in force. */
function assertReadable(content: string): void {
  const size = Buffer.byteLength(content);
  if (size > MAX_MESSAGE_BYTES)
    throw new CrosstalkError(
      'usage',
      `the note is ${String(size)} bytes long, more than the limit of 1 MiB; put the bulk elsewhere and note where it is`,
    );
  const read = parseMemory(content);
  if (read.ok) return;
  throw new CrosstalkError(
    'usage',
    `the note could not be read again: ${read.problems.join('; ')}; shorten its subject and its other words`,
  );
}
