import { passed } from '../../crash-points.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { attachedPath } from '../../protocol/layout.ts';
import { filesProblem, type AttachedFile } from '../../protocol/attached.ts';
import type { Blob } from '../../protocol/commit.ts';
import { shown } from '../../protocol/text/result.ts';
import type { SideFiles } from '../../state/side-files.ts';
import { sha256Of } from '../../state/side-files.ts';
import type { Context } from '../context.ts';
import { assertName } from './attachment.ts';

/** Where the bytes of a file are until they are kept; undefined when they are not there. */
export type BytesFor = (file: AttachedFile) => Promise<Uint8Array | undefined>;

/** @throws CrosstalkError `usage` for files that are too many, too large or oddly named */
export function assertFiles({ transport }: Context, files: readonly AttachedFile[]): void {
  for (const { name } of files) assertName(name);
  const problem = filesProblem(files, transport.fileLimits);
  if (problem !== undefined) throw new CrosstalkError('usage', `not attached: ${problem}`);
}

/** One at a time, so that no more than one file of all that arrives is in memory. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Keeps the files of a message beside the outbox, each verified, before the message is recorded. To do
 * it again changes nothing.
 *
 * @param id of the outbox entry
 * @param bytesFor undefined when another process of this machine has kept them already
 * @returns what the commit of the message adds
 * @throws CrosstalkError `usage` for bytes that are not those that the message names, `refused` when
 *   the disk does not take them
 */
export function keepFiles(
  { outbox, paths }: Pick<Context, 'outbox' | 'paths'>,
  id: string,
  files: readonly AttachedFile[],
  bytesFor: BytesFor | undefined,
): Promise<Blob[]> {
  if (files.length === 0) return Promise.resolve([]);
  const kept = turn.then(async () => {
    const blobs = new Map<string, Blob>();
    for (const file of files) {
      const { sha256, bytes } = file;
      await keep(outbox.files, id, file, bytesFor).catch((error: unknown) => {
        if (error instanceof CrosstalkError) throw error;
        throw new CrosstalkError(
          'refused',
          `cannot write to the state directory ${paths.root}: ${reasonOf(error)}; nothing was sent: make room, or give another with CROSSTALK_STATE_DIR`,
          { cause: error },
        );
      });
      blobs.set(sha256, { path: attachedPath(sha256), sha256, bytes, kept: id });
    }
    passed('files_kept');
    return [...blobs.values()];
  });
  turn = kept.catch(() => undefined);
  return kept;
}

async function keep(
  side: SideFiles,
  id: string,
  file: AttachedFile,
  bytesFor: BytesFor | undefined,
): Promise<void> {
  const given = await bytesFor?.(file);
  const bytes = given ?? (await side.get(id, file.sha256, file.bytes));
  if (bytes?.length !== file.bytes || sha256Of(bytes) !== file.sha256)
    throw new CrosstalkError(
      'usage',
      `not attached: the bytes of ${shown(file.name)} are not here, or were changed while it was sent; send the message again`,
    );
  if (given !== undefined) await side.put(id, file.sha256, given);
}
