import { createHash } from 'node:crypto';
import { chmod, lstat, readdir, realpath, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { isRecord, readJson, writeWhole } from './files.ts';
import { bury, clearGraveyard } from './removal.ts';

/** The record of a workspace's purpose, kept next to it. */
export interface WorkspaceRecord {
  actor: string;
  channel: string;
  /** The relPath of the thread's first message. */
  root: string;
  /** Last start or end of a run in it, ISO 8601 UTC. */
  used: string;
}

/** A workspace that exists. */
export interface Workspace {
  /** Absolute path, without symlinks. */
  dir: string;
  record: WorkspaceRecord;
}

/** Name of the workspace of sessions with an actor, which belong to no thread. */
const SESSION = 'session';
/** Suffix of the folder to which a workspace, or a removed part of one, is moved. */
const GONE = '.gone';

/**
 * The folders in which runs work, `<state>/work/<actor>/<thread>/` (trust.md §1): each empty at first,
 * and kept for the thread. The record of a workspace is next to it, out of reach of the runs in it.
 */
export class Workspaces {
  readonly #folder: string;
  /** The workspaces with an active run. */
  readonly #busy = new Set<string>();
  /** The last of the operations that must not interleave: a check and its removal. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Opens the workspace of an actor and a thread, created if necessary and without settings of agent
   * CLIs. It is the caller's alone until {@link leave}: a concurrent run could put settings into it after
   * they were removed. A run that starts in the meantime gets one of its own, named after it:
   * `<thread>~2`.
   *
   * @param suffix of the thread's first message. Another message with the same suffix gets another
   *   workspace.
   * @param isSetting whether a name is a setting that must be removed
   * @returns the workspace, and the removed names
   * @throws CrosstalkError `refused` when something that cannot be removed is in its place
   */
  open(
    of: Omit<WorkspaceRecord, 'used'>,
    suffix: string,
    now: Date,
    isSetting: (name: string) => boolean,
  ): Promise<{ dir: string; removed: string[] }> {
    return this.#alone(async () => {
      const parent = await this.#actorFolder(of.actor);
      const first = join(parent, await this.#nameFor(parent, of, suffix));
      let dir = first;
      for (let n = 2; this.#busy.has(dir); n++) dir = `${first}~${String(n)}`;
      await this.touch(dir, of, now);
      const cleaned = await this.#clean(dir, isSetting);
      this.#busy.add(dir);
      return cleaned;
    });
  }

  /** Releases a workspace whose run has ended: another one may start there. */
  leave(dir: string): void {
    this.#busy.delete(dir);
  }

  /** Opens the workspace of sessions with an actor. */
  async openInteractive(
    actor: string,
    isSetting: (name: string) => boolean,
  ): Promise<{ dir: string; removed: string[] }> {
    return this.#clean(join(await this.#actorFolder(actor), SESSION), isSetting);
  }

  /** Records the present time as the last use of a workspace. */
  async touch(dir: string, of: Omit<WorkspaceRecord, 'used'>, now: Date): Promise<void> {
    await writeWhole(`${dir}.json`, `${JSON.stringify({ ...of, used: now.toISOString() })}\n`);
  }

  /** Lists the folders that hold workspaces and their records, one for each actor. */
  async folders(): Promise<string[]> {
    return (await names(this.#folder)).map((actor) => join(this.#folder, actor));
  }

  /** Lists the workspaces that no run has used since a moment. */
  async unusedSince(moment: Date): Promise<Workspace[]> {
    const found: Workspace[] = [];
    for (const parent of await this.folders()) {
      for (const file of await names(parent)) {
        if (file.endsWith(GONE)) await clearGraveyard(join(parent, file));
        if (!file.endsWith('.json')) continue;
        const record = await this.#record(join(parent, file));
        const dir = join(parent, file.slice(0, -'.json'.length));
        if (record !== undefined && Date.parse(record.used) < moment.getTime())
          found.push({ dir, record });
      }
    }
    return found;
  }

  /** Removes a workspace; false if it was used in the meantime. */
  async removeUnused({ dir }: Workspace, moment: Date): Promise<boolean> {
    const removed = await this.#alone(async () => {
      const record = await this.#record(`${dir}.json`);
      if (record === undefined || Date.parse(record.used) >= moment.getTime()) return false;
      await bury(dir, `${dir}${GONE}`);
      await rm(`${dir}.json`, { force: true });
      return true;
    });
    if (removed) await clearGraveyard(`${dir}${GONE}`);
    return removed;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #actorFolder(actor: string): Promise<string> {
    await ownFolder(this.#folder);
    // Git compares paths without symlinks.
    const parent = join(await realpath(this.#folder), actor);
    await ownFolder(parent);
    return parent;
  }

  async #nameFor(
    parent: string,
    { channel, root }: Omit<WorkspaceRecord, 'used'>,
    suffix: string,
  ): Promise<string> {
    const known = await this.#record(join(parent, `${suffix}.json`));
    if (known === undefined || (known.channel === channel && known.root === root)) return suffix;
    const digest = createHash('sha256').update(`${channel}/${root}`).digest('hex');
    return `${suffix}-${digest.slice(0, 16)}`;
  }

  async #record(path: string): Promise<WorkspaceRecord | undefined> {
    const value = (await readJson(path))?.value;
    if (!isRecord(value)) return undefined;
    const { actor, channel, root, used } = value;
    const texts = [actor, channel, root, used].every((text) => typeof text === 'string');
    return texts ? (value as unknown as WorkspaceRecord) : undefined;
  }

  async #clean(
    dir: string,
    isSetting: (name: string) => boolean,
  ): Promise<{ dir: string; removed: string[] }> {
    await ownFolder(dir);
    const removed = (await readdir(dir)).filter((name) => isSetting(name)).sort();
    if (removed.length === 0) return { dir, removed };
    const gone = `${dir}${GONE}`;
    for (const name of removed) await buried(join(dir, name), gone);
    // Settings that cannot be deleted are out of the way, and the next sweep tries again.
    await clearGraveyard(gone).catch(() => undefined);
    return { dir, removed };
  }
}

/** Makes a real folder that belongs to us, and that nobody else can read; never follows a symlink. */
async function ownFolder(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined && !there.isDirectory()) await unlink(path);
  await makeFolder(path, 0o700);
  const { uid, mode } = await lstat(path);
  if (uid !== (process.getuid?.() ?? uid))
    throw new CrosstalkError('refused', `${path} belongs to another user; remove it`);
  if ((mode & 0o777) !== 0o700) await chmod(path, 0o700);
}

async function buried(path: string, graveyard: string): Promise<void> {
  try {
    await bury(path, graveyard);
  } catch (error) {
    throw new CrosstalkError(
      'refused',
      `cannot remove ${path}: ${reasonOf(error)}; remove it yourself`,
      { cause: error },
    );
  }
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return [];
    throw error;
  }
}
