import { join } from 'node:path';
import { takeFiles, type TakenFile } from '../../bus/attached-files.ts';
import { hasCode, reasonOf } from '../../errors.ts';
import { holdsBytes, writeNewFile } from '../../plain-file.ts';
import { harmlessName, type AttachedFile } from '../../protocol/attached.ts';
import type { Outbox } from '../../state/outbox.ts';
import type { OpenFolder } from '../../without-links.ts';
import { tipOf, type Context } from '../context.ts';
import { folderToWrite } from '../run-files.ts';
import type { ReadMessage } from './read.ts';

/**
 * The files that a message brings along, one after the other, each verified: from the bus, or from the
 * outbox while the message waits there.
 *
 * @param some those of its files that are wanted; all unless given
 */
export async function* filesOfMessage(
  context: Context,
  { message, path, queued }: ReadMessage,
  some: readonly AttachedFile[] = message.files ?? [],
): AsyncGenerator<TakenFile> {
  if (some.length === 0) return;
  if (queued) yield* filesInOutbox(context.outbox, path, some);
  else yield* takeFiles(context.transport, await tipOf(context), some);
}

async function* filesInOutbox(
  outbox: Outbox,
  path: string,
  files: readonly AttachedFile[],
): AsyncGenerator<TakenFile> {
  const entry = (await outbox.all()).find(({ commits }) =>
    commits.some((commit) => commit.files.some((file) => file.path === path)),
  );
  for (const file of files) {
    const bytes = entry && (await outbox.files.get(entry.id, file.sha256, file.bytes));
    yield bytes === undefined
      ? { file, ok: false, problem: 'is not in the outbox any more; look again' }
      : { file, ok: true, bytes };
  }
}

/** What became of one file of a message. */
export interface PutFile {
  file: AttachedFile;
  /** Where it is now; undefined if it could not be put there. */
  path?: string;
  problem?: string;
}

/**
 * Puts the files of a message into a folder, under harmless names.
 *
 * @throws CrosstalkError `usage` for a folder that cannot be written to
 */
export async function putFiles(
  context: Context,
  read: ReadMessage,
  dir: string,
): Promise<PutFile[]> {
  const folder = await folderToWrite(context, dir, '--files');
  const files = read.message.files ?? [];
  const put = new Map<AttachedFile, PutFile>();
  try {
    for await (const taken of filesOfMessage(context, read)) {
      const { file } = taken;
      const done = taken.ok
        ? await putFile(folder, files.indexOf(file), file, taken.bytes)
        : { file, problem: taken.problem };
      put.set(file, done);
    }
  } finally {
    await folder.close();
  }
  return files.map((file) => put.get(file) ?? { file, problem: 'could not be read' });
}

/**
 * Puts one file of a message into a folder, under a harmless name.
 *
 * @param index its place among the files of the message, from 0
 */
export async function putFile(
  folder: OpenFolder,
  index: number,
  file: AttachedFile,
  bytes: Buffer,
): Promise<PutFile> {
  const name = harmlessName(index + 1, file.name);
  const path = join(folder.path, name);
  const problem = await write(folder, name, bytes);
  return problem === undefined ? { file, path } : { file, problem };
}

/** The problem, if any; a file that is there already with these bytes is none. */
async function write(folder: OpenFolder, name: string, bytes: Buffer): Promise<string | undefined> {
  const path = join(folder.path, name);
  try {
    await writeNewFile(join(folder.at, name), bytes, 0o600);
    return undefined;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) return `cannot be written to ${path}: ${reasonOf(error)}`;
  }
  return (await holdsBytes(join(folder.at, name), bytes))
    ? undefined
    : `is not written: ${path} is another file; name an empty folder`;
}
