import { createHash } from 'node:crypto';
import { lstat, readdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { isRecord, readSealed, writeSealed } from './files.ts';
import { Seal } from '../store/seal.ts';

/** What a copy of a repository is for, and how far it is; kept beside it under these names. */
export interface WorktreeRecord {
  actor: string;
  channel: string;
  /** The relPath of the thread's first message. */
  root: string;
  /** The repository that it is a copy of: the absolute path of its folder. */
  source: string;
  branch: string;
  /** The commit with which the branch began; absent until the copy is made. */
  base?: string;
  /** Whether the command that prepares a new copy has ended well. */
  ready: boolean;
  /** When a run last began or ended in it, ISO 8601 UTC. */
  used: string;
  /** The commit that was fetched into the repository last. */
  fetched?: string;
  /** The commit that was pushed on last. */
  pushed?: string;
}

/** A copy that exists, or is to be made. */
export interface Worktree {
  /** Absolute, without symlinks. */
  dir: string;
  /** `<thread>/<name>`: what people call it. */
  id: string;
  record: WorktreeRecord;
}

/** For whom a copy is. */
export type Wanted = Pick<WorktreeRecord, 'actor' | 'channel' | 'root' | 'source'> & {
  /** The hex suffix of the thread's first message. */
  thread: string;
  /** What copies of this repository are called. */
  name: string;
  /** The branch on which the run should go on, if one of its own is known. */
  preferred?: string | undefined;
};

/** No thread has more copies of one repository; a hundred runs at once would share nothing. */
const MOST = 100;

/**
 * The copies of repositories, `<state>/worktrees/<thread>/<name>` (work.md). No two runs are at work in one at
 * a time, and no two threads or actors ever share one. The record is beside the copy, out of reach of what
 * works in it.
 */
export class Worktrees {
  readonly folder: string;
  readonly #seal: Seal;
  /** The copies in which a run is at work. */
  readonly #busy = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.folder = folder;
    this.#seal = Seal.of(folder);
  }

  /**
   * The copy of a thread and an actor, which is the caller's alone until {@link leave}: that of the branch
   * on which the work should go on, else the first one that is free. Its record is written at once, with
   * `ready: false` for a new one.
   */
  open(wanted: Wanted, now: Date): Promise<Worktree> {
    const opened = this.#last.then(() => this.#open(wanted, now));
    this.#last = opened.catch(() => undefined);
    return opened;
  }

  async #open(wanted: Wanted, now: Date): Promise<Worktree> {
    const { actor, channel, root, source } = wanted;
    await makeFolder(this.folder, 0o700);
    const top = await realpath(this.folder);
    const thread = await this.#threadName(wanted);
    const parent = join(top, thread);
    await makeFolder(parent, 0o700);
    const known = (await this.#in(thread)).filter(({ record }) => isFor(record, wanted));
    const free = known.filter(({ dir }) => !this.#busy.has(dir));
    const found = free.find(({ record }) => record.branch === wanted.preferred) ?? free[0];
    let tree = found;
    for (let n = 1; tree === undefined && n <= MOST; n++) {
      const end = n === 1 ? '' : `-${String(n)}`;
      const dir = join(parent, `${wanted.name}${end}`);
      if ((await this.#record(dir)) !== undefined || this.#busy.has(dir)) continue;
      // Its record was lost, and perhaps nothing else has what is in it.
      if (await isThere(dir)) continue;
      const record = { actor, channel, root, source, ready: false, used: now.toISOString() };
      const id = `${thread}/${wanted.name}${end}`;
      tree = { dir, id, record: { ...record, branch: `crosstalk/${thread}${end}` } };
    }
    if (tree === undefined) throw new Error(`more than ${String(MOST)} copies in ${parent}`);
    this.#busy.add(tree.dir);
    return this.note(tree, { used: now.toISOString() });
  }

  /** Says that a run has ended in a copy: another one may begin there. */
  leave({ dir }: Pick<Worktree, 'dir'>): void {
    this.#busy.delete(dir);
  }

  /** Keeps runs out of a copy until {@link leave}; false where one is at work. */
  claim({ dir }: Pick<Worktree, 'dir'>): boolean {
    if (this.#busy.has(dir)) return false;
    this.#busy.add(dir);
    return true;
  }

  /** Writes down how far a copy is. */
  async note(tree: Worktree, news: Partial<WorktreeRecord>): Promise<Worktree> {
    const record = { ...tree.record, ...news };
    await writeSealed(`${tree.dir}.json`, record, this.#seal, idOf(tree.dir));
    return { ...tree, record };
  }

  /** When a run last began or ended in a copy, as its record says by now. */
  async usedAt({ dir }: Pick<Worktree, 'dir'>): Promise<string | undefined> {
    return (await this.#record(dir))?.used;
  }

  /** All copies, by thread and name. */
  async all(): Promise<Worktree[]> {
    const found: Worktree[] = [];
    for (const thread of (await names(this.folder)).sort()) found.push(...(await this.#in(thread)));
    return found;
  }

  /** The folders in which the records of copies are. */
  async folders(): Promise<string[]> {
    return (await names(this.folder)).map((thread) => join(this.folder, thread));
  }

  /** Forgets a copy whose files were removed. */
  async forget({ dir }: Pick<Worktree, 'dir'>): Promise<void> {
    await rm(`${dir}.json`, { force: true });
  }

  async #in(thread: string): Promise<Worktree[]> {
    const parent = join(await realpath(this.folder).catch(() => this.folder), thread);
    const found: Worktree[] = [];
    for (const file of (await names(parent)).sort()) {
      if (!file.endsWith('.json')) continue;
      const name = file.slice(0, -'.json'.length);
      const record = await this.#record(join(parent, name));
      if (record !== undefined)
        found.push({ dir: join(parent, name), id: `${thread}/${name}`, record });
    }
    return found;
  }

  /** Whoever writes another message under the suffix of a thread gets copies of their own. */
  async #threadName({ thread, channel, root }: Wanted): Promise<string> {
    const known = await this.#in(thread);
    const isOther = known.some(({ record }) => record.channel !== channel || record.root !== root);
    if (!isOther) return thread;
    const digest = createHash('sha256').update(`${channel}/${root}`).digest('hex');
    return `${thread}-${digest.slice(0, 16)}`;
  }

  async #record(dir: string): Promise<WorktreeRecord | undefined> {
    const value = (await readSealed(`${dir}.json`, this.#seal, idOf(dir)))?.value;
    return isRecord(value) && isWhole(value) ? value : undefined;
  }
}

function idOf(dir: string): string {
  return join(basename(dirname(dir)), basename(dir));
}

function isFor(record: WorktreeRecord, { actor, channel, root, source }: Wanted): boolean {
  const { actor: whose, channel: where, root: first, source: of } = record;
  return whose === actor && where === channel && first === root && of === source;
}

function isWhole(
  value: Record<string, unknown>,
): value is Record<string, unknown> & WorktreeRecord {
  const texts = ['actor', 'channel', 'root', 'source', 'branch', 'used'];
  return (
    texts.every((key) => typeof value[key] === 'string') &&
    typeof value['ready'] === 'boolean' &&
    ['base', 'fetched', 'pushed'].every(
      (key) => value[key] === undefined || typeof value[key] === 'string',
    )
  );
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return [];
    throw error;
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
