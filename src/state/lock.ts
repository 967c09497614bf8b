import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atPath } from '../at-path.ts';
import { CrosstalkError } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { plainFileAt } from '../plain-file.ts';
import { connect, isBroken, isBusy, type Database } from '../store/sqlite.ts';
import { systemError } from '../store/store.ts';
import { isRecord, writeWhole } from './files.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

/**
 * The name of a lock. `dispatcher`: one for each machine and transport. `writer`: held while publishing.
 * `turn`: the turn to push, among the clones of one remote. `budget`: held while counting. `index`: held
 * while updating the search index. `approvals`: held while writing the approvals. `pins`: held while
 * writing the pinned keys. `checkout`: held while moving the checkout. `deciding`: held while deciding on
 * a proposal. `host-file`: held while changing this machine's host file. `init`: held while creating the
 * bus of a project on this machine.
 */
export type LockName =
  | 'dispatcher'
  | 'writer'
  | 'turn'
  | 'budget'
  | 'index'
  | 'approvals'
  | 'pins'
  | 'checkout'
  | 'deciding'
  | 'host-file'
  | 'init';

export interface Holder extends ProcessIdentity {
  /** ISO 8601 UTC. */
  since: string;
}

export type Acquired = { ok: true; release: () => Promise<void> } | { ok: false; holder: Holder };

/**
 * Returns the holder of a lock; undefined when it is free.
 *
 * A lock is held by the kernel, in the form of a transaction on an empty database (docs/decisions/10-state.md): it ends
 * with its process, however that ends, and holds in every container on this machine. A file next to it
 * names the holder, for display.
 */
export async function holderOf(root: string, name: LockName): Promise<Holder | undefined> {
  if (!isNamed(root, name)) return undefined;
  try {
    const taken = await take(root, name);
    if (taken === undefined) return said(root, name);
    taken.close();
    return undefined;
  } catch {
    // When nothing may be written, only the file with the name is available.
    const holder = said(root, name);
    return (await isAlive(holder)) ? holder : undefined;
  }
}

/** Whether a holder of a lock is named, who may have died: this is the cheapest check. */
export function isNamed(root: string, name: LockName): boolean {
  return existsSync(namePath(root, name));
}

/** Maximum bytes of a file that names a holder. */
const MAX_NAME = 4096;

/** Milliseconds for which a process that only checks may hold the lock. */
const LOOK_MS = 100;

/** Acquires a lock, waiting for its holder up to `wait` milliseconds, or until `signal` is aborted. */
export async function acquire(
  root: string,
  name: LockName,
  { wait, signal }: { wait: number; signal?: AbortSignal | undefined },
): Promise<Acquired> {
  await makeFolder(root, 0o700);
  const deadline = performance.now() + Math.max(wait, LOOK_MS);
  for (;;) {
    const taken = await take(root, name);
    if (taken !== undefined) return { ok: true, release: await named(root, name, taken) };
    const isOver = performance.now() >= deadline || signal?.aborted === true;
    if (isOver) return { ok: false, holder: said(root, name) };
    const pause = 5 + Math.random() * 20;
    await sleep(pause, undefined, { ...(signal && { signal }) }).catch(() => undefined);
  }
}

/** Takes a free lock, until the connection is closed. */
async function take(root: string, name: LockName): Promise<Database | undefined> {
  const path = lockPath(root, name);
  let database: Database | undefined;
  try {
    database = await connect(path, 0);
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error)) return undefined;
    if (!isBroken(error)) throw systemError(error, path);
    // The file is not moved: another process would then move the new one that has just been made and is held.
    throw new CrosstalkError(
      'refused',
      `${path} is damaged, or is no file of crosstalk: end what runs here, and move it away`,
      { cause: error },
    );
  }
}

/** Writes this process as the holder; returns the function that releases the lock. */
async function named(root: string, name: LockName, taken: Database): Promise<() => Promise<void>> {
  const release = async (): Promise<void> => {
    // A name that could not be removed is not trusted.
    await rm(namePath(root, name), { force: true }).catch(() => undefined);
    taken.close();
  };
  try {
    await clear(namePath(root, name));
    const self: Holder = { ...(await identify(process.pid)), since: new Date().toISOString() };
    await writeWhole(namePath(root, name), JSON.stringify(self));
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

/** Moves a folder out of the way, as a file can replace anything but a folder. */
async function clear(path: string): Promise<void> {
  if (atPath(path, { follow: false })?.isDirectory() !== true) return;
  await rename(path, `${path}.${String(Date.now())}.broken`);
}

/** Returns the named holder; the actual holder may not have written its name yet. */
function said(root: string, name: LockName): Holder {
  const { pid, started, since } = fieldsAt(namePath(root, name));
  return {
    pid: typeof pid === 'number' ? pid : 0,
    started: typeof started === 'string' ? started : '',
    since: typeof since === 'string' ? since : 'a moment ago',
  };
}

/** Reads the fields of a file whose path may hold anything. */
function fieldsAt(path: string): Record<string, unknown> {
  const found = plainFileAt(path, MAX_NAME, { follow: false });
  try {
    const value: unknown = found.kind === 'text' ? JSON.parse(found.text) : undefined;
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns the path of the database that is locked; it is opened only for locking. */
export function lockPath(root: string, name: LockName): string {
  return join(root, `${name}.lock.db`);
}

function namePath(root: string, name: LockName): string {
  return join(root, `${name}.lock`);
}

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
