import type { Attachment } from '../../operations/sending/attachment.ts';
import { list, type Call } from './command.ts';

/**
 * The files of `--attach`; a command without them loads nothing for that.
 *
 * @throws CrosstalkError `usage` for what is no regular file, or too much
 */
export async function readAttachments(call: Call): Promise<Attachment[]> {
  const given = list(call, 'attach');
  if (given.length === 0) return [];
  const { readFiles } = await import('./attach-files.ts');
  return readFiles(call, given);
}
