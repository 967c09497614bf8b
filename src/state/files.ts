import { closeSync, fsync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { passed } from '../crash-points.ts';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';
import { Seal } from '../store/seal.ts';

/**
 * Writes a file so that after a crash at any point it holds either the old content or the new:
 * temporary file, fsync, rename, fsync of the folder (invariant 3).
 */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  await replace(path, content, { sync: true });
  const folder = openSync(dirname(path), 'r');
  await synced(folder).catch(() => undefined);
  closeSync(folder);
}

/** The steps in between are synchronous, which takes less time than waiting for each. */
const synced = promisify(fsync);

/** Writes a file that is complete at any moment, and need not outlive a crash of the machine. */
export function writeWhole(path: string, content: string): Promise<void> {
  return replace(path, content, { sync: false });
}

async function replace(
  path: string,
  content: string | Uint8Array,
  { sync }: { sync: boolean },
): Promise<void> {
  const temporary = `${path}.${String(process.pid)}.${String(serial++)}.tmp`;
  try {
    const file = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(file, content);
      if (sync) await synced(file);
    } finally {
      closeSync(file);
    }
    passed('file_written');
    renameSync(temporary, path);
    passed('file_renamed');
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

let serial = 0;

/**
 * Reads a state file's JSON; undefined when there is no such file. Anything other than JSON, such as a
 * folder, is moved aside to `<name>.broken`, and its value is undefined.
 *
 * @param open removes the seal; undefined for a text that is not sealed, which then counts as broken
 * @throws CrosstalkError `invalid` when it cannot be moved, because something was moved there before
 */
export async function readJson(
  path: string,
  open: (text: string) => string | undefined = (text) => text,
): Promise<{ value: unknown } | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (!hasCode(error, 'EISDIR')) throw error;
    text = '';
  }
  try {
    return { value: JSON.parse(open(text) ?? '') };
  } catch (error) {
    // Without the key nothing is known about the file.
    if (error instanceof CrosstalkError) throw error;
    await moveAside(path);
    return { value: undefined };
  }
}

/** Moves anything that is not a state file to `<name>.broken`. */
async function moveAside(path: string): Promise<void> {
  await rename(path, `${path}.broken`).catch((error: unknown) => {
    // Another process may have moved it.
    if (hasCode(error, 'ENOENT')) return;
    throw new CrosstalkError(
      'invalid',
      `${path} is no file of the state, and cannot be moved to ${path}.broken: ${reasonOf(error)}; move it away`,
      { cause: error },
    );
  });
}

/** Reads a file that {@link writeSealed} has written under this name, like {@link readJson}. */
export function readSealed(
  path: string,
  seal = Seal.of(path),
  id = '',
): Promise<{ value: unknown } | undefined> {
  return readJson(path, (text) => seal.open(id, text));
}

/** Writes an object that is valid because this machine wrote it, like {@link writeDurably}. */
export function writeSealed(
  path: string,
  value: object,
  seal = Seal.of(path),
  id = '',
): Promise<void> {
  return writeDurably(path, seal.close(id, value));
}

/** Whether a value read from a state file is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const TIME = /^\d{4}-\d{2}-\d{2}T/;

/** Whether a value read from a state file is a time in our format: ISO 8601, UTC. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && TIME.test(value) && !Number.isNaN(Date.parse(value));
}
