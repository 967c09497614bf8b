import { basename } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { bytesInRun } from '../../operations/run-files.ts';
import { attachmentOf, type Attachment } from '../../operations/sending/attachment.ts';
import { bytesOnDisk } from '../../operations/sending/file-on-disk.ts';
import { HIGHEST_BYTES, MAX_FILES } from '../../protocol/attached.ts';
import type { Call } from './command.ts';

/**
 * The files that `--attach` names, with their bytes as they are now. A symlink is followed to a regular file,
 * which keeps the name by which it was given; a run may attach only what it could read itself (trust.md
 * §3). What a clone takes is decided later, by whoever writes the message.
 *
 * @throws CrosstalkError `usage` for what is no regular file, or too much
 */
export async function readFiles(call: Call, given: readonly string[]): Promise<Attachment[]> {
  if (given.length > MAX_FILES)
    throw new CrosstalkError(
      'usage',
      `--attach was given ${String(given.length)} times, and a message takes ${String(MAX_FILES)} files; pack them into one archive, or send several messages`,
    );
  const found: Attachment[] = [];
  let left = HIGHEST_BYTES;
  for (const file of given) {
    const bytes = await contentOf(call, file, left);
    left -= bytes.length;
    found.push(attachmentOf(basename(file), bytes));
  }
  return found;
}

function contentOf({ io }: Call, file: string, limit: number): Promise<Buffer> {
  const { agentMode: mode, cwd } = io;
  return mode === undefined
    ? bytesOnDisk(cwd, file, { asked: '--attach', limit })
    : bytesInRun(mode, cwd, file, { option: '--attach', limit });
}
