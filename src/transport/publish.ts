import { setTimeout as sleep } from 'node:timers/promises';
import { passed } from '../crash-points.ts';
import type { Failure } from './failure.ts';
import { build } from './build.ts';
import type { Commit } from './commit.ts';
import type { Objects } from './objects.ts';
import { fetchBranch, knownTip, mirror, pushCommit, type Fetched } from './remote.ts';
import type { Repository } from './repository.ts';
import { moveSolo } from './solo.ts';
import { readFolder } from './tree.ts';

export type Published =
  | { ok: true; tip: string; commits: number; attempts: number }
  | { ok: false; failure: Failure; attempts: number };

export interface PublishOptions {
  signal?: AbortSignal | undefined;
  /** Why nothing may be built on a tip; asked for each one that is built on. */
  refuses?: (tip: string) => Promise<string | undefined>;
  /** Turns at pushing, among those who would otherwise reject one another. */
  turns?: Turns | undefined;
  /** Waits until the remote may be asked again, after a lost race. */
  permit?: ((kind: 'push' | 'read') => Promise<void>) | undefined;
}

/** What is asked of whoever coordinates. */
export interface Turns {
  lostRace: () => void;
  /** Waits for a turn at pushing these, or until somebody has pushed them along with his own. */
  take: (commits: readonly Commit[]) => Promise<Turn | { kind: 'done'; tip: string } | undefined>;
}

interface Turn {
  kind: 'turn';
  /** What the branch stood at after the last turn. */
  tip: string | undefined;
  /** What others wait to push. */
  along: { ticket: string; commits: Commit[] }[];
  end: (tip?: string, taken?: readonly string[]) => Promise<void>;
}

/** A publish that lost so many races gives up; its entries stay in the outbox. */
export const MAX_ATTEMPTS = 20;
const MAX_BACKOFF_MS = 1000;

/**
 * Puts commits on the remote with one push, without index or checkout (protocol.md §10).
 *
 * Each attempt builds them on the newest tip we know, then one push moves the branch. A rejected
 * push means somebody was faster: wait for a turn, or without one a random moment, fetch, build
 * again. Commits whose files are on the tip already are left out, so repeating a
 * publish whose answer was lost writes nothing twice.
 */
export async function publish(
  repository: Repository,
  objects: Objects,
  commits: readonly Commit[],
  options: PublishOptions,
): Promise<Published> {
  const { signal } = options;
  const turns = repository.origin === undefined ? undefined : options.turns;
  // A push that was refused may have been refused for what it took along: the next one goes alone.
  let alone = false;
  for (let attempt = 1; ; attempt++) {
    if (attempt > 1) {
      await options.permit?.('read');
      await options.permit?.('push');
    }
    const turn = await turns?.take(commits);
    if (turn?.kind === 'done') {
      await fetchBranch(repository, signal);
      return { ok: true, tip: turn.tip, commits: commits.length, attempts: attempt - 1 };
    }
    if (attempt > 1 && turn === undefined) await backOff(attempt, signal);
    const fetched = await catchUpWith(repository, objects, attempt > 1, turn?.tip, signal);
    if (!fetched.ok) {
      await turn?.end();
      return { ok: false, failure: fetched.failure, attempts: attempt - 1 };
    }
    const along = alone ? [] : (turn?.along ?? []);
    const all = [...along.flatMap((one) => one.commits), ...commits];
    const tried = await tryOnce(repository, objects, all, options);
    const taken = along.map(({ ticket }) => ticket);
    await turn?.end(tried.ok ? tried.tip : undefined, taken);
    if (tried.ok) return { ...tried, attempts: tried.commits === 0 ? attempt - 1 : attempt };
    const { failure } = tried;
    const lostRace = failure.kind === 'behind' || failure.kind === 'contention';
    if (lostRace) turns?.lostRace();
    const again = lostRace || along.length > 0;
    if (!again || attempt >= MAX_ATTEMPTS) return { ok: false, failure, attempts: attempt };
    alone = !lostRace;
  }
}

/** Fetches when others are known to have pushed: after a lost race, or by what the last turn left. */
async function catchUpWith(
  repository: Repository,
  objects: Objects,
  lostRace: boolean,
  lastTip: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Fetched> {
  if (repository.origin === undefined) return { ok: true };
  const known = await knownTip(repository, objects);
  const stale = lostRace || (lastTip !== undefined && lastTip !== known);
  return stale ? fetchBranch(repository, signal) : { ok: true };
}

/**
 * Milliseconds to wait after a lost race, before an attempt that has no turn.
 *
 * @param attempt which one comes next: 2 after the first lost race
 * @param random from 0 to 1
 */
export function backOffMs(attempt: number, random: number): number {
  return random * Math.min(MAX_BACKOFF_MS, 20 * 2 ** (attempt - 1));
}

function backOff(attempt: number, signal: AbortSignal | undefined): Promise<void> {
  const wait = backOffMs(attempt, Math.random());
  return sleep(wait, undefined, { ...(signal && { signal }) }).catch(() => undefined);
}

/** Builds the commits on the tip known here and pushes them. */
async function tryOnce(
  repository: Repository,
  objects: Objects,
  commits: readonly Commit[],
  { signal, refuses }: PublishOptions,
): Promise<{ ok: true; tip: string; commits: number } | { ok: false; failure: Failure }> {
  const tip = await knownTip(repository, objects);
  const refusal = tip === undefined ? undefined : await refuses?.(tip);
  if (refusal !== undefined) return { ok: false, failure: { kind: 'refused', reason: refusal } };
  const missing = await notYetThere(objects, tip, commits);
  if (missing.length === 0 && tip !== undefined) return { ok: true, tip, commits: 0 };
  const built = await build(repository, objects, tip, missing);
  if (!built.ok) return built;
  passed('commits_built');
  const failure = await move(repository, objects, tip, built.oid, signal);
  if (failure !== undefined) return { ok: false, failure };
  passed('pushed');
  return { ok: true, tip: built.oid, commits: missing.length };
}

/** Moves the bus to `to`: a push, or in solo mode the local branch; the failure, if any. */
async function move(
  repository: Repository,
  objects: Objects,
  from: string | undefined,
  to: string,
  signal: AbortSignal | undefined,
): Promise<Failure | undefined> {
  if (repository.origin === undefined) return moveSolo(repository, from, to);
  const failure = await pushCommit(repository, to, { signal });
  if (failure !== undefined) return failure;
  // Push itself moves the tracking branch.
  const tracking = `refs/remotes/origin/${repository.branch}`;
  if ((await objects.read(`${tracking}^{commit}`))?.oid !== to)
    await repository.git.run(['update-ref', tracking, to]);
  await mirror(repository, to);
  return undefined;
}

const FEW_FILES = 10;

/** The names in folders at a commit, each folder read once. */
class Names {
  readonly #objects: Objects;
  readonly #tip: string;
  readonly #folders = new Map<string, Promise<Set<string> | undefined>>();

  constructor(objects: Objects, tip: string) {
    this.#objects = objects;
    this.#tip = tip;
  }

  /** Whether all of the files may be there. */
  async include(files: readonly { path: string }[]): Promise<boolean> {
    for (const { path } of files) {
      const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      if (folder === '') continue;
      const known =
        this.#folders.get(folder) ??
        readFolder(this.#objects, this.#tip, folder).then(
          (entries) => entries && new Set(entries.map((entry) => entry.path)),
        );
      this.#folders.set(folder, known);
      const names = await known;
      if (names !== undefined && !names.has(path)) return false;
    }
    return true;
  }
}

async function notYetThere(
  objects: Objects,
  tip: string | undefined,
  commits: readonly Commit[],
): Promise<Commit[]> {
  if (tip === undefined) return [...commits];
  const missing: Commit[] = [];
  const names = new Names(objects, tip);
  for (const commit of commits) {
    // Of many files in one folder, most of which are new, its names tell at once.
    if (commit.files.length > FEW_FILES && !(await names.include(commit.files))) {
      missing.push(commit);
      continue;
    }
    const there = await Promise.all(
      commit.files.map(async ({ path, content }) => (await objects.text(tip, path)) === content),
    );
    if (commit.clear !== undefined || there.includes(false)) missing.push(commit);
  }
  return missing;
}
