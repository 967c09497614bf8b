import type { WebFile, WebSendRequest, WebUpload } from '../../api/api.ts';
import { CrosstalkError } from '../../errors.ts';
import { filesProblem } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Context } from '../context.ts';
import { attachmentOf, type Attachment } from '../sending/attachment.ts';

/**
 * Under this name the files of a page are kept until a message names them; they are swept like those of
 * an entry that was never written.
 */
const UPLOADED = 'uploaded';
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Keeps a file that a page is going to send.
 *
 * @throws CrosstalkError `usage` for a name or a size that cannot be sent
 */
export async function keepUpload(
  { outbox, transport, now }: Context,
  { name, base64 }: WebUpload,
): Promise<WebFile> {
  if (!BASE64.test(base64)) throw new CrosstalkError('usage', 'base64 is no base64');
  const { file, bytes } = attachmentOf(name, Buffer.from(base64, 'base64'));
  const problem = filesProblem([file], transport.fileLimits);
  if (problem !== undefined) throw new CrosstalkError('usage', `not attached: ${problem}`);
  await outbox.sweepFiles(now());
  await outbox.files.put(UPLOADED, file.sha256, bytes);
  return file;
}

/**
 * The files that a request to send names.
 *
 * @throws CrosstalkError `refused` for one that is not kept any more
 */
export async function uploadsOf(
  { outbox, transport }: Context,
  { files = [] }: WebSendRequest,
): Promise<Attachment[]> {
  const found: Attachment[] = [];
  for (const { sha256, name } of files) {
    const bytes = await outbox.files.get(UPLOADED, sha256, transport.fileLimits.file);
    if (bytes === undefined)
      throw new CrosstalkError(
        'refused',
        `${shown(name)} is not kept here any more; attach it again`,
      );
    found.push(attachmentOf(name, bytes));
  }
  return found;
}
