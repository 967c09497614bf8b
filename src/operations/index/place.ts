import { copyFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.ts';

/** Where an index is kept, and the folder in which whoever writes to it takes the lock. */
export interface IndexPlace {
  path: string;
  lock: string;
}

/** An index of this process alone. */
export const IN_MEMORY = ':memory:';

/**
 * Where an index goes that cannot be written in the state directory: for a run, which a sandbox may keep
 * from that, into its own directory, begun with what is known already; else into memory.
 */
export async function placeApart({ agentMode, paths }: Context): Promise<IndexPlace> {
  const lock = agentMode?.runDir;
  if (lock === undefined) return { path: IN_MEMORY, lock: paths.root };
  const path = join(lock, 'index.db');
  const there = await stat(path).catch(() => undefined);
  if (there === undefined) await seed(paths.index, path);
  return { path, lock };
}

/** Copies an index while others may write to it: a copy during which it changed is thrown away. */
async function seed(from: string, to: string): Promise<void> {
  const before = await state(from);
  try {
    for (const part of ['', '-wal'])
      await copyFile(`${from}${part}`, `${to}${part}`).catch((error: unknown) => {
        if (part === '') throw error;
      });
    if (before === (await state(from))) return;
  } catch {
    // It is built from git then.
  }
  for (const part of ['', '-wal']) await rm(`${to}${part}`, { force: true }).catch(() => undefined);
}

async function state(path: string): Promise<string> {
  const parts = await Promise.all(
    ['', '-wal'].map((part) => stat(`${path}${part}`).catch(() => undefined)),
  );
  return parts.map((part) => `${String(part?.size)} ${String(part?.mtimeMs)}`).join();
}
