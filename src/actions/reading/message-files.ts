import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { isAgentSetting } from '../../agents/settings.ts';
import { takeFiles, type TakenFile } from '../../bus/attached-files.ts';
import { hasCode, reasonOf } from '../../errors.ts';
import { holdsBytes, writeNewFile } from '../../plain-file.ts';
import { keptNames, type AttachedFile } from '../../protocol/attached.ts';
import type { Outbox } from '../../state/outbox.ts';
import { suffixOf } from '../../protocol/layout.ts';
import type { OpenFolder } from '../../without-links.ts';
import { tipOf, type Context } from '../context.ts';
import { withNaming } from '../lookup/naming.ts';
import { folderToWrite } from '../run-files.ts';
import { gather, queuedIn } from '../tracing/gather.ts';
import type { ReadMessage } from './read.ts';

/**
 * Yields the files of a message, one after the other, each verified: from the bus, or from the outbox while the
 * message waits there.
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

/** Outcome of one file of a message. */
export interface PutFile {
  file: AttachedFile;
  /** Path of the written file; undefined if it could not be written. */
  path?: string;
  problem?: string;
}

/** The files of a message that are put into a folder. */
export interface PutFiles {
  files: PutFile[];
  /** Messages of its thread that bring files along, if it brings none itself. */
  elsewhere: string[];
}

/**
 * Puts the files of a message into a folder, see {@link folderFor}.
 *
 * @throws CrosstalkError `usage` for a folder that cannot be written to
 */
export async function putFiles(
  context: Context,
  read: ReadMessage,
  dir: string,
): Promise<PutFiles> {
  const files = read.message.files ?? [];
  if (files.length === 0) return { files: [], elsewhere: await filesNearby(context, read) };
  const { folder, names } = await folderFor(context, { ...read, files, dir });
  const put = new Map<AttachedFile, PutFile>();
  try {
    for await (const taken of filesOfMessage(context, read)) {
      const { file } = taken;
      const done = taken.ok
        ? await putFile(folder, names[files.indexOf(file)] ?? '', file, taken.bytes)
        : { file, problem: taken.problem };
      put.set(file, done);
    }
  } finally {
    await folder.close();
  }
  return {
    files: files.map((file) => put.get(file) ?? { file, problem: 'could not be read' }),
    elsewhere: [],
  };
}

/** The most messages of a thread that are named as bringing files along. */
const MOST_NEARBY = 3;

/** Messages of the thread of one without files that bring some along. */
export async function filesNearby(
  context: Context,
  { channel: { id: channel }, relPath }: Pick<ReadMessage, 'channel' | 'relPath'>,
): Promise<string[]> {
  const tip = await tipOf(context);
  const queued = await queuedIn(context, channel);
  return withNaming(context, tip, async (naming) => {
    const { messages } = await gather(context, tip, { channel, relPath }, queued, naming);
    const bringing = messages.filter(({ message: { files = [] } }) => files.length > 0);
    return bringing.slice(0, MOST_NEARBY).map((one) => one.relPath);
  });
}

/** Make reads a file of this name in the folder in which it is started. */
const MAKEFILE = /^(?:gnu|bsd)?makefile$/i;
const FOLDER_DIGITS = 8;

/**
 * Returns the folder for the files of a message, and their names there ({@link keptNames}). A name that somebody
 * chose may be one that a program looks for, so they are put beside nothing else: a folder that holds other things
 * gets one for them.
 *
 * @throws CrosstalkError `usage` for a folder that cannot be written to
 */
export async function folderFor(
  surroundings: Parameters<typeof folderToWrite>[0],
  { relPath, files, dir }: { relPath: string; files: readonly AttachedFile[]; dir: string },
): Promise<{ folder: OpenFolder; names: readonly string[] }> {
  const names = keptNames(
    files.map(({ name }) => name),
    (name) => MAKEFILE.test(name) || isAgentSetting(name, 'npx'),
  );
  const folder = await folderToWrite(surroundings, dir, '--files');
  const beside = (await readdir(folder.at)).filter((name) => !names.includes(name));
  if (beside.length === 0) return { folder, names };
  await folder.close();
  const own = join(dir, suffixOf(relPath).slice(0, FOLDER_DIGITS));
  return { folder: await folderToWrite(surroundings, own, '--files'), names };
}

/** Puts one file of a message into a folder, under a name of {@link folderFor}. */
export async function putFile(
  folder: OpenFolder,
  name: string,
  file: AttachedFile,
  bytes: Buffer,
): Promise<PutFile> {
  const path = join(folder.path, name);
  const problem = await write(folder, name, bytes);
  return problem === undefined ? { file, path } : { file, problem };
}

/** Writes a file and returns the problem, if any; an existing file with the same bytes is not a problem. */
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
