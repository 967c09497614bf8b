import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { lockPath, type LockName } from './lock.ts';

/** Script of the child process, which loads nothing but SQLite. */
const TAKE = `const { DatabaseSync } = require(process.argv[1]);
const lock = new DatabaseSync(process.argv[2], { timeout: 0 });
lock.exec('BEGIN EXCLUSIVE');
lock.close();
console.log('taken');`;
/** Milliseconds for the child. */
const PATIENCE_MS = 20_000;

/**
 * Whether another process can take a lock that this one holds, because its file system does not support
 * locks: a child tries, since a process can always lock again what it holds. When the child cannot try,
 * nothing is known about the lock.
 */
export async function isGivenTwice(root: string, name: LockName): Promise<boolean> {
  const sqlite = createRequire(import.meta.url).resolve('@photostructure/sqlite');
  const argv = ['-e', TAKE, sqlite, lockPath(root, name)];
  const asked = promisify(execFile)(process.execPath, argv, { timeout: PATIENCE_MS });
  return (await asked.catch(() => ({ stdout: '' }))).stdout.includes('taken');
}
