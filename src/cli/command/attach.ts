import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { attachmentOf, type Attachment } from '../../operations/sending/attachment.ts';
import { HIGHEST_BYTES, MAX_FILES, sizeInWords } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import { list, type Call } from './command.ts';
import { bytesInRun } from './run-files.ts';

/**
 * The files of `--attach`, with their bytes as they are now. A symlink is followed to a regular file,
 * which keeps the name by which it was given; a run may attach only what it could read itself (trust.md
 * §3). What a clone takes is decided later, by whoever writes the message.
 *
 * @throws CrosstalkError `usage` for what is no regular file, or too much
 */
export async function readAttachments(call: Call): Promise<Attachment[]> {
  const given = list(call, 'attach');
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
    ? contentFor(cwd, file, limit)
    : bytesInRun(mode, cwd, file, { option: '--attach', limit });
}

async function contentFor(cwd: string, file: string, limit: number): Promise<Buffer> {
  const refused = (why: string): CrosstalkError =>
    new CrosstalkError('usage', `--attach ${shown(file)} ${why}`);
  const { O_RDONLY, O_NONBLOCK } = constants;
  const path = await realpath(resolve(cwd, file)).catch((error: unknown) => {
    throw refused(`cannot be read: ${reasonOf(error)}; name another`);
  });
  // Opening a named pipe would wait until somebody writes into it.
  const handle = await open(path, O_RDONLY | O_NONBLOCK).catch((error: unknown) => {
    throw refused(`cannot be read: ${reasonOf(error)}; name another`);
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile())
      throw refused('is no regular file; pack a folder into an archive, and attach that');
    if (stats.size > limit)
      throw refused(
        `has ${sizeInWords(stats.size)}, and all files of a message at most ${sizeInWords(HIGHEST_BYTES)}; put it elsewhere and send where it is`,
      );
    const bytes = await handle.readFile();
    if (bytes.length !== stats.size) throw refused('was changed while it was read; try again');
    return bytes;
  } finally {
    await handle.close();
  }
}
