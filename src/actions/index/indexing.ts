import { stat, copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../errors.ts';
import { isBroken, isFull, isUnwritable } from '../../store/sqlite.ts';
import { Index } from '../../index/index.ts';
import { emptyIndexBatch, type IndexBatch } from '../../index/writer.ts';
import { CHANNELS, MEMORIES } from '../../protocol/layout.ts';
import type { FileRef } from '../../bus/channel-files.ts';
import { acquire } from '../../state/lock.ts';
import type { FileChange } from '../../transport/transport.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { dayFolders, MISSING, readChanges, readInParts } from './files.ts';

export interface IndexOptions {
  /**
   * Milliseconds after which the index is used even if it is not complete, newest messages first; without
   * it, the index is used only once it is complete.
   */
  patience?: number;
}

/** Number of files that are read and written together. */
const CHUNK = 4000;
/** Milliseconds between reports to the operator about a long operation. */
const SAY_AFTER_MS = 3000;
/** Milliseconds to wait for another process that is updating the index. */
const LOCK_WAIT_MS = 600_000;

/**
 * Opens the index, updates it to the newest commit known locally, and uses it. The cost of an update grows with the
 * added messages; a missing index is built, newest messages first. If the state directory cannot be written, or its
 * disk has no room, an index is made in memory.
 *
 * @param use receives whether the index is complete
 */
export async function withIndex<T>(
  context: Context,
  options: IndexOptions,
  use: (index: Index, complete: boolean) => Promise<T> | T,
): Promise<T> {
  let place: IndexPlace = { path: context.paths.index, lock: context.paths.root };
  for (let tries = 1; ; tries++) {
    const index = await open(context, place.path);
    try {
      const complete = await bringUp(context, index, place, options);
      return await use(index, complete);
    } catch (error) {
      const instead = await placeInstead(context, place, error);
      if (instead !== undefined) {
        place = instead;
        continue;
      }
      if (!isBroken(error) || tries > 2) throw error;
      context.note(`the search index is damaged (${reasonOf(error)}); it is built again`);
      abandon(place.path, index);
    }
  }
}

export interface Built {
  tip: string;
  messages: number;
  malformed: number;
}

/** Updates the index, or rebuilds it. */
export async function buildIndex(context: Context, anew: boolean): Promise<Built> {
  await refreshOrNote(context);
  const { index: path } = context.paths;
  if (anew) abandon(path, await open(context, path));
  const tip = await tipOf(context);
  return withIndex(context, {}, (index) => {
    const { channels, malformedTotal } = index.counts();
    const messages = Object.values(channels).reduce((sum, channel) => sum + channel.messages, 0);
    return { tip, messages, malformed: malformedTotal };
  });
}

/**
 * The indexes that this process has opened, by path, with the file of each. An index stays open until the
 * process ends, because the binding does not close a connection that has prepared statements.
 */
const opened = new Map<string, { index: Index; inode: number }>();

async function open(context: Context, path: string): Promise<Index> {
  const inodeOf = (): Promise<number | undefined> =>
    stat(path).then(
      ({ ino }) => ino,
      () => undefined,
    );
  const known = opened.get(path);
  if (known !== undefined && (await inodeOf()) === known.inode) return known.index;
  try {
    const index = await Index.open(path, context.note);
    opened.set(path, { index, inode: (await inodeOf()) ?? 0 });
    return index;
  } catch (error) {
    if ((error as { errcode?: unknown }).errcode === undefined) throw error;
    const { path: apart } = await placeApart(context);
    if (apart !== IN_MEMORY && apart !== path) return open(context, apart);
    noteNotKept(context, path, error);
    return Index.open(IN_MEMORY, context.note);
  }
}

function abandon(path: string, index: Index): void {
  opened.delete(path);
  index.abandon();
}

/**
 * Updates the index to the tip.
 *
 * @returns false when the time ran out
 */
async function bringUp(
  context: Context,
  index: Index,
  place: IndexPlace,
  options: IndexOptions,
): Promise<boolean> {
  const tip = await tipOf(context);
  const { progress } = index;
  if (progress.tip === tip && index.missing(MISSING).length === 0) return true;
  const deadline = performance.now() + (options.patience ?? Infinity);
  const wait = Math.min(LOCK_WAIT_MS, options.patience ?? LOCK_WAIT_MS);
  const lock = await acquire(place.lock, 'index', { wait }).catch(() => undefined);
  if (lock?.ok === false) return index.progress.tip === tip;
  try {
    const work = new Update(context, index, deadline);
    return await work.to(tip);
  } finally {
    await lock?.release();
  }
}

class Update {
  readonly #context: Context;
  readonly #index: Index;
  readonly #deadline: number;
  #sayAt = performance.now() + SAY_AFTER_MS;

  constructor(context: Context, index: Index, deadline: number) {
    this.#context = context;
    this.#index = index;
    this.#deadline = deadline;
  }

  async to(tip: string): Promise<boolean> {
    const { transport } = this.#context;
    const known = async (commit: string | undefined): Promise<boolean> =>
      commit !== undefined && (await transport.objects.read(`${commit}^{tree}`)) !== undefined;
    let { tip: from, building } = this.#index.progress;
    if (!(await known(from))) {
      if (!(await known(building?.tip))) building = { tip, day: '' };
      if (building === undefined || !(await this.#build(building))) return false;
      from = building.tip;
    }
    return from === undefined ? false : this.#follow(from, tip);
  }

  /**
   * Builds the index from scratch, or continues to build it.
   *
   * @returns false when the time ran out
   */
  async #build(building: { tip: string; day: string }): Promise<boolean> {
    const { tip } = building;
    const { days, others } = await dayFolders(this.#context, tip);
    if (building.day === '') {
      this.#index.clear();
      await this.#take(tip, others, (batch) => {
        this.#index.write(batch, { tip: undefined, building });
      });
    }
    const left = days.filter(({ day }) => building.day === '' || day < building.day);
    for (let at = 0; at < left.length;) {
      const day = left[at]?.day ?? '';
      const files: FileRef[] = [];
      for (; left[at]?.day === day; at++)
        for (const file of await this.#filesOf(tip, left[at]?.path ?? '')) files.push(file);
      await this.#take(tip, files, (batch, isLast) => {
        const reached = isLast ? day : (this.#index.progress.building?.day ?? '');
        this.#index.write(batch, { tip: undefined, building: { tip, day: reached } });
      });
      this.#say(`down to ${day}`);
      if (performance.now() > this.#deadline && at < left.length) return false;
    }
    this.#index.settle();
    this.#index.write(emptyIndexBatch(), { tip, building: undefined });
    return true;
  }

  /** Returns all files in a day's folder, including those in subfolders that somebody created in it. */
  async #filesOf(tip: string, folder: string): Promise<FileRef[]> {
    const files: FileRef[] = [];
    for await (const some of this.#context.transport.walk(tip, folder))
      for (const file of some) files.push(file);
    return files;
  }

  /** Indexes the difference between two commits, with any history between them. */
  async #follow(from: string, tip: string): Promise<boolean> {
    const again = new Set(this.#index.missing(MISSING));
    const renamed = new Set<string>();
    let taken = 0;
    const take = async (changes: readonly FileChange[]): Promise<void> => {
      for await (const { batch } of readChanges(this.#context, tip, changes)) {
        for (const { uuid, name } of batch.channels)
          if (this.#index.isRenamed(uuid, name)) renamed.add(uuid);
        this.#index.write(batch, { tip: from, building: undefined });
      }
      taken += changes.length;
      this.#say(`${String(taken)} new files`);
    };
    let changes: FileChange[] = [];
    for await (const some of this.#context.transport.changes(from, tip, [CHANNELS, MEMORIES])) {
      for (const change of some) {
        again.delete(change.path);
        changes.push(change);
      }
      if (changes.length < CHUNK) continue;
      await take(changes);
      changes = [];
    }
    for (const path of again)
      changes.push({ path, oid: `${tip}:${path}`, mode: '100644', status: 'M' });
    if (changes.length > 0) await take(changes);
    for (const uuid of renamed) {
      const files = await this.#filesOf(tip, `${CHANNELS}/${uuid}`);
      await this.#take(tip, files, (batch) => {
        this.#index.write(batch, { tip: from, building: undefined });
      });
    }
    this.#index.write(emptyIndexBatch(), { tip, building: undefined });
    return true;
  }

  /** Reads files one part at a time: the next part is read from git while this one is written. */
  async #take(
    tip: string,
    files: readonly FileRef[],
    write: (batch: IndexBatch, isLast: boolean) => void,
  ): Promise<void> {
    const parts = readInParts(this.#context, tip, files);
    let reading = parts.next();
    for (let part = await reading; part.done !== true; part = await reading) {
      reading = parts.next();
      write(part.value.batch, part.value.isLast);
    }
  }

  #say(where: string): void {
    if (performance.now() < this.#sayAt) return;
    this.#sayAt = performance.now() + SAY_AFTER_MS;
    this.#context.note(`bringing the search index up to date, ${where}`);
  }
}

/** The place of an index, and the folder for the lock of processes that write to it. */
interface IndexPlace {
  path: string;
  lock: string;
}

/** An index that only this process uses. */
const IN_MEMORY = ':memory:';

/**
 * Returns the place for an index when the state directory cannot be written: for a run, whose sandbox may
 * prevent that, its own directory, starting with a copy of the existing index; otherwise memory.
 */
async function placeApart({ agentMode, paths }: Context): Promise<IndexPlace> {
  const lock = agentMode?.runDir;
  if (lock === undefined) return { path: IN_MEMORY, lock: paths.root };
  const path = join(lock, 'index.db');
  const there = await stat(path).catch(() => undefined);
  if (there === undefined) await seed(paths.index, path);
  return { path, lock };
}

/**
 * Returns the place for an index instead of one where it could not be read or written; undefined for any
 * other error, or when no place is left to try. On a full disk it is memory, also for a run, whose
 * directory is on the same disk.
 */
async function placeInstead(
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

/** The commands that were notified; one command may create an index more than once. */
const told = new WeakSet<Context['paths']>();

/** Notes once per command that an index is created in memory. */
function noteNotKept({ note, paths }: Context, path: string, error: unknown): void {
  if (told.has(paths)) return;
  told.add(paths);
  note(`the search index cannot be kept in ${path}: ${reasonOf(error)}`);
}

/** Copies an index while other processes may write to it; a copy during which it changed is discarded. */
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
