import { CrosstalkError } from '../../errors.ts';
import { isFileName, typeOfBytes, type AttachedFile } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import { sha256Of } from '../../state/side-files.ts';

/** A file that is being sent, with its bytes. */
export interface Attachment {
  file: AttachedFile;
  bytes: Uint8Array;
}

/**
 * A file as it is sent.
 *
 * @param name without folders
 * @throws CrosstalkError `usage` for a name that would deceive whoever reads it
 */
export function attachmentOf(name: string, bytes: Uint8Array): Attachment {
  assertName(name);
  const type = typeOfBytes(bytes);
  return { file: { sha256: sha256Of(bytes), name, bytes: bytes.length, type }, bytes };
}

/** @throws CrosstalkError `usage` */
export function assertName(name: string): void {
  if (isFileName(name)) return;
  throw new CrosstalkError(
    'usage',
    `not attached: ${shown(name)} is no name for a file that is sent; give it one of at most 255 characters, without slashes and invisible characters`,
  );
}
