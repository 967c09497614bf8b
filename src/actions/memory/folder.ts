import { constants } from 'node:fs';
import { lstat, open, readdir, realpath, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { MEMORIES, memoryFile } from '../../protocol/layout.ts';
import { isMemoryFile, MEMORY_FORM, parseMemoryFile } from '../../protocol/files/memory.ts';
import { MAX_MESSAGE_BYTES } from '../../protocol/message.ts';
import { authorOf, type Commit } from '../../protocol/outgoing.ts';
import { parsed, shown, unreadable, type Parsed } from '../../protocol/text/result.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { deliver, deliverOrNote, type Delivered } from '../deliver.ts';
import { memoryFiles, named, noteUnreadable, type UnreadableMemory } from './memories.ts';
import { resolveFrom } from '../lookup/resolve.ts';

/** Maximum number of files in one commit of an import. COMMIT_BYTES limits it too, except for its last file. */
const COMMIT_FILES = 500;
const COMMIT_BYTES = 16 * 1024 * 1024;

export interface Exported {
  /** Absolute path of the folder. */
  dir: string;
  exported: number;
  /** Files of `data/memories/` that are not memories, and were left out. */
  unreadable: UnreadableMemory[];
}

/**
 * Writes every memory, including superseded ones, into a folder, with the bytes that git has.
 *
 * @param dir a folder that is empty or does not exist yet
 * @throws CrosstalkError `refused` for a folder that contains anything or cannot be written
 */
export async function exportMemories(context: Context, dir: string): Promise<Exported> {
  await refreshOrNote(context);
  const target = await emptyFolder(resolve(context.cwd, dir));
  const problems: UnreadableMemory[] = [];
  const written: string[] = [];
  try {
    for await (const { file, bytes, parsed: memory } of memoryFiles(context)) {
      if (!memory.ok) {
        problems.push({ file, reason: memory.problems.join('; ') });
        continue;
      }
      // The name is that of a memory, so it contains no slash; an existing file or link is not opened.
      const path = join(target, file);
      const handle = await open(path, 'wx', 0o644);
      written.push(path);
      await handle.writeFile(bytes).finally(() => handle.close());
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    if (error instanceof CrosstalkError) throw error;
    throw unusable(target, 'written to', error);
  }
  noteUnreadable(context, problems);
  return { dir: target, exported: written.length, unreadable: problems };
}

async function emptyFolder(dir: string): Promise<string> {
  let names: string[];
  try {
    await makeFolder(dir);
    names = await readdir(dir);
  } catch (error) {
    throw unusable(dir, 'used', error);
  }
  if (names[0] === undefined) return realpath(dir);
  throw new CrosstalkError(
    'refused',
    `${dir} is not empty, it holds ${shown(names[0])}; name a new or empty folder: crosstalk memory export <dir>`,
  );
}

function unusable(dir: string, how: string, cause: unknown): CrosstalkError {
  return new CrosstalkError(
    'refused',
    `the folder ${dir} cannot be ${how}: ${reasonOf(cause)}; name another`,
    { cause },
  );
}

export interface Imported {
  /** Absolute path of the folder. */
  dir: string;
  /** File names, oldest first. */
  imported: string[];
  /** Number of files that already existed with the same bytes. */
  skipped: number;
  delivered: Delivered;
}

/**
 * Restores what {@link exportMemories} wrote, with the same names and bytes. Everything is checked
 * before anything is written.
 *
 * @throws CrosstalkError `invalid` when a file of the folder is not a memory, `refused` when one
 *   exists with other content; nothing is written then
 */
export async function importMemories(
  context: Context,
  input: { dir: string; login: string },
): Promise<Imported> {
  const dir = resolve(context.cwd, input.dir);
  const from = resolveFrom(context, undefined, input.login);
  const files = await readFolder(dir);
  await refreshOrNote(context);
  const fresh = await notThereYet(context, dir, files);
  const commits = inCommits(fresh).map((group): Commit => ({
    at: context.now().toISOString(),
    author: authorOf(from, context.hostname),
    subject: `crosstalk: import of ${String(group.length)} memories`,
    files: group.map(([file, content]) => ({ path: memoryFile(file), content })),
  }));
  let delivered: Delivered = { published: true, direct: true };
  let held: CrosstalkError | undefined;
  for (const commit of commits) {
    try {
      // If the first commit could not be pushed, the others join it in the outbox.
      if (delivered.published) delivered = await deliverOrNote(context, [commit]);
      else await deliver(context, [commit], { wait: false });
    } catch (error) {
      if (!(error instanceof CrosstalkError) || error.code !== 'held') throw error;
      // A secret in one commit does not prevent the others.
      held ??= error;
    }
  }
  if (held !== undefined) throw held;
  return {
    dir,
    imported: [...fresh.keys()],
    skipped: files.size - fresh.size,
    delivered,
  };
}

/** Reads the memories of a folder by file name, in the order of their names. */
async function readFolder(dir: string): Promise<Map<string, string>> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    throw new CrosstalkError(
      'usage',
      `the folder ${dir} cannot be read: ${reasonOf(error)}; name one that crosstalk memory export has written`,
      { cause: error },
    );
  }
  const files = new Map<string, string>();
  const problems: UnreadableMemory[] = [];
  for (const file of names.sort()) {
    const read = await readOne(dir, file);
    if (read.ok) files.set(file, read.value);
    else problems.push({ file, reason: read.problems.join('; ') });
  }
  if (problems.length === 0) return files;
  const many =
    problems.length === 1 ? '1 file is no note' : `${String(problems.length)} files are no notes`;
  throw new CrosstalkError(
    'invalid',
    `in ${dir} ${many}: ${named(problems)}; nothing was imported: fix or remove what is wrong`,
  );
}

/** Reads the text of one file; symlinks are not followed, and nothing beyond the limit is read. */
async function readOne(dir: string, file: string): Promise<Parsed<string>> {
  if (!isMemoryFile(file)) return unreadable(`its name is not of the form ${MEMORY_FORM}`);
  const path = join(dir, file);
  try {
    const seen = await lstat(path);
    if (seen.isSymbolicLink()) return unreadable('a symlink');
    if (!seen.isFile()) return unreadable(seen.isDirectory() ? 'a folder' : 'no ordinary file');
    // If the file has become a link or a pipe in the meantime, it is not followed and does not block.
    const handle = await open(
      path,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    try {
      const { size } = await handle.stat();
      if (size > MAX_MESSAGE_BYTES) return unreadable(`larger than 1 MiB: ${String(size)} bytes`);
      const bytes = await handle.readFile();
      const memory = parseMemoryFile(bytes);
      return memory.ok ? parsed(bytes.toString('utf8')) : memory;
    } finally {
      await handle.close();
    }
  } catch (error) {
    return unreadable(reasonOf(error));
  }
}

/** Selects the files that `data/memories/` does not contain yet, on the bus or in the outbox. */
async function notThereYet(
  context: Context,
  dir: string,
  files: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const fresh = new Map(files);
  const others: string[] = [];
  for await (const { file, bytes } of memoryFiles(context, (name) => files.has(name))) {
    if (!Buffer.from(files.get(file) ?? '').equals(bytes)) others.push(file);
    fresh.delete(file);
  }
  if (others.length === 0) return fresh;
  const listed = others.slice(0, 5).join(', ');
  const more = others.length > 5 ? ` and ${String(others.length - 5)} more` : '';
  throw new CrosstalkError(
    'refused',
    `${MEMORIES} holds ${listed}${more} with other content than ${dir}; nothing was imported: a note is never changed, take these out of the folder or add what is new with: crosstalk memory add --supersedes <note>`,
  );
}

/** Groups files so that each group fits into a commit, and its outbox entry into memory. */
function inCommits(files: ReadonlyMap<string, string>): [string, string][][] {
  const groups: [string, string][][] = [];
  let bytes = 0;
  for (const entry of files) {
    const last = groups.at(-1);
    if (last === undefined || last.length === COMMIT_FILES || bytes >= COMMIT_BYTES) {
      groups.push([entry]);
      bytes = 0;
    } else last.push(entry);
    bytes += entry[1].length;
  }
  return groups;
}
