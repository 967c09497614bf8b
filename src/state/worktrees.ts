import { createHash } from 'node:crypto';
import { lstat, readdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { isRecord, readSealed, writeSealed } from './files.ts';
import { Seal } from '../store/seal.ts';

/** The record of a copy's purpose and progress; kept next to it under these names. */
export interface WorktreeRecord {
  actor: string;
  channel: string;
  /** The relPath of the thread's first message. */
  root: string;
  /** The repository that it is a copy of: the absolute path of its folder. */
  source: string;
  branch: string;
  /** The commit from which the branch started; absent until the copy is made. */
  base?: string;
  /** Whether the command that prepares a new copy has succeeded. */
  ready: boolean;
  /** Last start or end of a run in it, ISO 8601 UTC. */
  used: string;
  /** The commit that was last fetched into the repository. */
  fetched?: string;
  /** The commit that was last pushed on. */
  pushed?: string;
}

/** A copy that exists, or is to be made. */
export interface Worktree {
  /** Absolute path, without symlinks. */
  dir: string;
  /** The name for people, `<thread>/<name>`. */
  id: string;
  record: WorktreeRecord;
}

/** The thread and actor that need a copy of a repository. */
export type Wanted = Pick<WorktreeRecord, 'actor' | 'channel' | 'root' | 'source'> & {
  /** The hex suffix of the thread's first message. */
  thread: string;
  /** The name for copies of this repository. */
  name: string;
  /** The branch that the run should continue, if it has one. */
  preferred?: string | undefined;
};

/** Maximum number of copies of one repository for a thread; a hundred concurrent runs would share nothing. */
const MOST = 100;

/**
 * The copies of repositories, `<state>/worktrees/<thread>/<name>` (work.md). No two runs work in one at a
 * time, and no two threads or actors ever share one. The record is next to the copy, out of reach of the
 * runs in it.
 */
export class Worktrees {
  readonly folder: string;
  readonly #seal: Seal;
  /** The copies with an active run. */
  readonly #busy = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.folder = folder;
    this.#seal = Seal.of(folder);
  }

  /**
   * Opens the copy of a thread and an actor, which is the caller's alone until {@link leave}: that of the
   * branch to be continued, else the first free one. Its record is written immediately, with `ready:
   * false` for a new one.
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
      // Its record was lost, and its content may exist nowhere else.
      if (await isThere(dir)) continue;
      const record = { actor, channel, root, source, ready: false, used: now.toISOString() };
      const id = `${thread}/${wanted.name}${end}`;
      tree = { dir, id, record: { ...record, branch: `crosstalk/${thread}${end}` } };
    }
    if (tree === undefined) throw new Error(`more than ${String(MOST)} copies in ${parent}`);
    this.#busy.add(tree.dir);
    return this.note(tree, { used: now.toISOString() });
  }

  /** Releases a copy whose run has ended: another one may start there. */
  leave({ dir }: Pick<Worktree, 'dir'>): void {
    this.#busy.delete(dir);
  }

  /** Keeps runs out of a copy until {@link leave}; false when a run works there. */
  claim({ dir }: Pick<Worktree, 'dir'>): boolean {
    if (this.#busy.has(dir)) return false;
    this.#busy.add(dir);
    return true;
  }

  /** Records the progress of a copy. */
  async note(tree: Worktree, news: Partial<WorktreeRecord>): Promise<Worktree> {
    const record = { ...tree.record, ...news };
    await writeSealed(`${tree.dir}.json`, record, this.#seal, idOf(tree.dir));
    return { ...tree, record };
  }

  /** Reads from the record the last start or end of a run in a copy. */
  async usedAt({ dir }: Pick<Worktree, 'dir'>): Promise<string | undefined> {
    return (await this.#record(dir))?.used;
  }

  /** Lists all copies, by thread and name. */
  async all(): Promise<Worktree[]> {
    const found: Worktree[] = [];
    for (const thread of (await names(this.folder)).sort()) found.push(...(await this.#in(thread)));
    return found;
  }

  /** Lists the folders with the records of copies. */
  async folders(): Promise<string[]> {
    return (await names(this.folder)).map((thread) => join(this.folder, thread));
  }

  /** Removes the record of a copy whose files were removed. */
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

  /** Returns the folder name of a thread; another message with the same suffix gets copies of its own. */
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
