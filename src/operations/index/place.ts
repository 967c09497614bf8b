import { copyFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../errors.ts';
import { isFull, isUnwritable } from '../../store/sqlite.ts';
import type { Context } from '../context.ts';

/** Where an index is kept, and the folder for the lock of processes that write to it. */
export interface IndexPlace {
  path: string;
  lock: string;
}

/** An index that only this process uses. */
export const IN_MEMORY = ':memory:';

/**
 * The place for an index when the state directory cannot be written: for a run, whose sandbox may
 * prevent that, its own directory, starting with a copy of the existing index; otherwise memory.
 */
export async function placeApart({ agentMode, paths }: Context): Promise<IndexPlace> {
  const lock = agentMode?.runDir;
  if (lock === undefined) return { path: IN_MEMORY, lock: paths.root };
  const path = join(lock, 'index.db');
  const there = await stat(path).catch(() => undefined);
  if (there === undefined) await seed(paths.index, path);
  return { path, lock };
}

/**
 * The place for an index instead of one where it could not be read or written; undefined when the error is
 * another one, or there is nothing left to try. On a full disk it is memory, also for a run, whose
 * directory is on the same disk.
 */
export async function placeInstead(
  context: Context,
  { path }: IndexPlace,
  error: unknown,
): Promise<IndexPlace | undefined> {
  const { paths } = context;
  if (path === IN_MEMORY || !isUnwritable(error)) return undefined;
  if (path === paths.index && !isFull(error)) return placeApart(context);
  noteNotKept(context, path, error);
  return { path: IN_MEMORY, lock: paths.root };
}

/** The commands that have been told; one makes an index more than once. */
const told = new WeakSet<Context['paths']>();

/** Says once in a command that an index is made in memory. */
export function noteNotKept({ note, paths }: Context, path: string, error: unknown): void {
  if (told.has(paths)) return;
  told.add(paths);
  note(`the search index cannot be kept in ${path}: ${reasonOf(error)}`);
}

/** Copies an index while others may write to it; a copy during which it changed is discarded. */
async function seed(from: string, to: string): Promise<void> {
  const before = await state(from);
  try {
    for (const part of ['', '-wal'])
      await copyFile(`${from}${part}`, `${to}${part}`).catch((error: unknown) => {
        if (part === '') throw error;
      });
    if (before === (await state(from))) return;
  } catch {
    // Without a copy, the index is built from git.
  }
  for (const part of ['', '-wal']) await rm(`${to}${part}`, { force: true }).catch(() => undefined);
}

async function state(path: string): Promise<string> {
  const parts = await Promise.all(
    ['', '-wal'].map((part) => stat(`${path}${part}`).catch(() => undefined)),
  );
  return parts.map((part) => `${String(part?.size)} ${String(part?.mtimeMs)}`).join();
}
