import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import lockfile from 'proper-lockfile';
import { isRecord, readJson, writeDurably } from './files.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

/** `dispatcher`: one a machine and transport. `writer`: whoever publishes just now. */
export type LockName = 'dispatcher' | 'writer';

export interface Holder extends ProcessIdentity {
  /** ISO 8601 UTC. */
  since: string;
}

export type Acquired = { ok: true; release: () => Promise<void> } | { ok: false; holder: Holder };

/**
 * Who holds a lock; undefined when nobody alive does.
 *
 * A lock is a file naming its holder by pid and start time. Whether it holds is asked of the
 * operating system, so the lock of a dead process counts for nothing from the moment it died.
 */
export async function holderOf(root: string, name: LockName): Promise<Holder | undefined> {
  const read = await readJson(lockPath(root, name));
  const holder = read && parseHolder(read.value);
  return holder && (await isAlive(holder)) ? holder : undefined;
}

/**
 * Takes a lock, waiting for its holder up to `wait` milliseconds.
 *
 * Looking at the holder and writing our own name is one step, guarded by proper-lockfile for the
 * moment it takes: two processes that find the same dead holder cannot both succeed it.
 */
export async function acquire(
  root: string,
  name: LockName,
  options: { wait: number; signal?: AbortSignal },
): Promise<Acquired> {
  const deadline = Date.now() + options.wait;
  const self: Holder = { ...(await identify(process.pid)), since: new Date().toISOString() };
  for (;;) {
    const holder = (await holderOf(root, name)) ?? (await claim(root, name, self));
    if (holder === undefined) {
      return { ok: true, release: () => rm(lockPath(root, name), { force: true }) };
    }
    if (Date.now() >= deadline || options.signal?.aborted === true) return { ok: false, holder };
    await sleep(5 + Math.random() * 20);
  }
}

/** Writes our name unless somebody alive was faster; returns that holder. */
async function claim(root: string, name: LockName, self: Holder): Promise<Holder | undefined> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const unlock = await lockfile.lock(root, {
    lockfilePath: join(root, `${name}.guard`),
    realpath: false,
    stale: 2000,
    update: 1000,
    retries: { retries: 400, factor: 1, minTimeout: 5, maxTimeout: 25, randomize: true },
    // The default throws inside a timer and would end the process; the guard is held for milliseconds.
    onCompromised: () => undefined,
  });
  try {
    const holder = await holderOf(root, name);
    if (holder === undefined) await writeDurably(lockPath(root, name), JSON.stringify(self));
    return holder;
  } finally {
    await unlock().catch(() => undefined);
  }
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
