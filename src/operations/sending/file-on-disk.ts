import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { readWhole } from '../../plain-file.ts';
import { apart, HIGHEST_BYTES } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';

/**
 * The bytes of a file that a person attaches, as they are now. A symlink is followed to a regular file.
 *
 * @param file may be relative to `cwd`
 * @param given `asked`: the option or command that names it, for errors; `limit`: the bytes it may have
 * @throws CrosstalkError `usage` for what is no regular file, or too large
 */
export async function bytesOnDisk(
  cwd: string,
  file: string,
  { asked, limit }: { asked: '--attach' | '/attach'; limit: number },
): Promise<Buffer> {
  const refused = (why: string): CrosstalkError =>
    new CrosstalkError('usage', `${asked} ${shown(file)} ${why}`);
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
        `has ${apart(stats.size, HIGHEST_BYTES)}, and all files of a message at most ${apart(HIGHEST_BYTES, stats.size)}; put it elsewhere and send where it is`,
      );
    const bytes = await readWhole(handle, stats.size);
    if (typeof bytes === 'string') throw refused(bytes);
    return bytes;
  } finally {
    await handle.close();
  }
}
