import * as fs from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder } from '../folder.ts';
import { putNew } from '../plain-file.ts';
import { isRecord, readJson, writeWhole } from './files.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

/**
 * `dispatcher`: one for each machine and transport. `writer`: whoever is publishing. `turn`: whose
 * turn it is to push, among the clones of one remote. `budget`: whoever counts. `index`: whoever
 * brings the search index up to date. `approvals`: whoever writes what is approved. `checkout`:
 * whoever moves the checkout. `deciding`: whoever decides on a proposal.
 * `host-file`: whoever changes this machine's host file. `init`: whoever makes the bus of a project on this machine.
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
 * Who holds a lock; undefined when nobody alive does.
 *
 * A lock is a file that names its holder by pid and start time. The operating system is asked
 * whether that process runs, so the lock of a dead process counts for nothing from the moment it
 * died.
 */
export async function holderOf(root: string, name: LockName): Promise<Holder | undefined> {
  const read = await readJson(lockPath(root, name));
  const holder = read && parseHolder(read.value);
  return holder && (await isAlive(holder)) ? holder : undefined;
}

/**
 * Whether there is a lock's file, whether its holder is dead or alive: this is the cheapest look.
 */
export function isHeld(root: string, name: LockName): Promise<boolean> {
  return access(lockPath(root, name)).then(
    () => true,
    () => false,
  );
}

/**
 * Takes a lock, waiting for its holder up to `wait` milliseconds, or until `signal` is aborted.
 *
 * A lock that is free is taken by making its file, which only one process can. Succeeding a dead
 * holder takes two steps, looking and writing our own name; proper-lockfile guards the moment in
 * between, so that two processes that find the same dead holder cannot both succeed it.
 */
export async function acquire(
  root: string,
  name: LockName,
  options: { wait: number; signal?: AbortSignal | undefined },
): Promise<Acquired> {
  const { signal } = options;
  const deadline = Date.now() + options.wait;
  const self: Holder = { ...(await identify(process.pid)), since: new Date().toISOString() };
  for (;;) {
    if ((await create(root, name, self)) || (await succeed(root, name, self))) {
      return { ok: true, release: () => rm(lockPath(root, name), { force: true }) };
    }
    const holder = await holderOf(root, name);
    if (holder === undefined) continue;
    if (Date.now() >= deadline || signal?.aborted === true) return { ok: false, holder };
    const pause = 5 + Math.random() * 20;
    await sleep(pause, undefined, { ...(signal && { signal }) }).catch(() => undefined);
  }
}

let serial = 0;

/**
 * Makes the lock's file, which is complete from the first moment; false when there is one already.
 */
async function create(root: string, name: LockName, self: Holder): Promise<boolean> {
  await makeFolder(root, 0o700);
  const path = lockPath(root, name);
  const whole = `${path}.${String(process.pid)}.${String(serial++)}.tmp`;
  try {
    fs.writeFileSync(whole, JSON.stringify(self), { mode: 0o600 });
    return putNew(whole, path);
  } finally {
    fs.rmSync(whole, { force: true });
  }
}

/**
 * Puts our name in the place of a dead holder's; false when the holder lives, or when there is no
 * lock any more.
 */
async function succeed(root: string, name: LockName, self: Holder): Promise<boolean> {
  if ((await holderOf(root, name)) !== undefined) return false;
  // Loaded when a lock is taken: most commands only look whether one is.
  const { default: lockfile } = await import('proper-lockfile');
  const unlock = await lockfile.lock(root, {
    lockfilePath: join(root, `${name}.guard`),
    realpath: false,
    fs: { ...fs, mkdir: makePrivate },
    stale: 2000,
    update: 1000,
    retries: { retries: 400, factor: 1, minTimeout: 5, maxTimeout: 25, randomize: true },
    // The default throws inside a timer and would end the process; the guard is held for milliseconds.
    onCompromised: () => undefined,
  });
  try {
    if (!(await isHeld(root, name)) || (await holderOf(root, name)) !== undefined) return false;
    await writeWhole(lockPath(root, name), JSON.stringify(self));
    return true;
  } finally {
    await unlock().catch(() => undefined);
  }
}

/** The guard is a folder, which would be open to others where the umask allows that. */
function makePrivate(path: string, done: fs.NoParamCallback): void {
  fs.mkdir(path, 0o700, done);
}

function lockPath(root: string, name: LockName): string {
  return join(root, `${name}.lock`);
}

function parseHolder(value: unknown): Holder | undefined {
  if (!isRecord(value)) return undefined;
  const { pid, started, since } = value;
  if (typeof pid !== 'number' || typeof started !== 'string') return undefined;
  return { pid, started, since: typeof since === 'string' ? since : '' };
}
