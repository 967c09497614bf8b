import type { PutFile } from '../../operations/reading/message-files.ts';
import { sizeInWords, type AttachedFile } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';

/** An attached file in one line; what it is called is what its sender wrote. */
export function fileLine({ name, bytes, type }: AttachedFile): string {
  return `${shown(name)} (${type}, ${sizeInWords(bytes)})`;
}

/** What became of an attached file that was to be put into a folder. */
export function putLine({ file, path, problem }: PutFile): string {
  return path === undefined ? `${fileLine(file)} ${problem ?? ''}` : `${fileLine(file)}: ${path}`;
}
