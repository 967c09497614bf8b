import { passed } from '../../crash-points.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { attachedPath } from '../../protocol/layout.ts';
import {
  filesProblem,
  type AttachedFile,
  isFileName,
  typeOfBytes,
  apart,
  HIGHEST_BYTES,
} from '../../protocol/attached.ts';
import type { Blob } from '../../protocol/outgoing.ts';
import { shown } from '../../protocol/text/result.ts';
import { type SideFiles, sha256Of } from '../../state/side-files.ts';
import type { Context } from '../context.ts';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readWhole } from '../../plain-file.ts';

/** A file that is being sent, with its bytes. */
export interface Attachment {
  file: AttachedFile;
  bytes: Uint8Array;
}

/**
 * Creates the attachment of a file.
 *
 * @param name without folders
 * @throws CrosstalkError `usage` for a name that would deceive a reader
 */
export function attachmentOf(name: string, bytes: Uint8Array): Attachment {
  assertName(name);
  const type = typeOfBytes(bytes);
  return { file: { sha256: sha256Of(bytes), name, bytes: bytes.length, type }, bytes };
}

/** @throws CrosstalkError `usage` */
function assertName(name: string): void {
  if (isFileName(name)) return;
  throw new CrosstalkError(
    'usage',
    `not attached: ${shown(name)} is no name for a file that is sent; give it one of at most 255 characters, without slashes and invisible characters`,
  );
}

/** A source of the bytes of a file until they are stored; undefined when they are missing. */
export type BytesFor = (file: AttachedFile) => Promise<Uint8Array | undefined>;

/** @throws CrosstalkError `usage` for files that are too many, too large or oddly named */
export function assertFiles({ transport }: Context, files: readonly AttachedFile[]): void {
  for (const { name } of files) assertName(name);
  const problem = filesProblem(files, transport.fileLimits);
  if (problem !== undefined) throw new CrosstalkError('usage', `not attached: ${problem}`);
}

/** Files are stored one at a time, so that no more than one of all arriving files is in memory. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Stores the files of a message next to the outbox, each verified, before the message is recorded.
 * Repeating this changes nothing.
 *
 * @param id of the outbox entry
 * @param bytesFor undefined when another process of this machine has stored them already
 * @returns the blobs for the commit of the message
 * @throws CrosstalkError `usage` for bytes that are not those that the message names, `refused` when they
 *   cannot be written
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

/**
 * Reads the bytes of a file that a person attaches, in its present state. A symlink is followed to a
 * regular file.
 *
 * @param file may be relative to `cwd`
 * @param given `asked`: the option or command that names it, for errors; `limit`: maximum bytes
 * @throws CrosstalkError `usage` for anything other than a regular file, or one that is too large
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
  // Opening a named pipe would block until somebody writes into it.
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
