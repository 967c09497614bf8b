import type { PutFile } from '../../operations/reading/message-files.ts';
import { sizeInWords, type AttachedFile } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';

/** How many files a message brings along, in words; nothing for none. */
export function filesMark(files: readonly AttachedFile[] = []): string[] {
  const count = files.length;
  return count === 0 ? [] : [count === 1 ? '1 file' : `${String(count)} files`];
}

/** An attached file in one line; what it is called is what its sender wrote. */
export function fileLine({ name, bytes, type }: AttachedFile): string {
  return `${shown(name)} (${type}, ${sizeInWords(bytes)})`;
}

/** What became of an attached file that was to be put into a folder. */
export function putLine({ file, path, problem }: PutFile): string {
  return path === undefined ? `${fileLine(file)} ${problem ?? ''}` : `${fileLine(file)}: ${path}`;
}
