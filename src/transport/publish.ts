import { setTimeout as sleep } from 'node:timers/promises';
import { passed } from '../crash-points.ts';
import { followBranch } from './checkout.ts';
import type { Failure } from './failure.ts';
import { writeLoose } from './loose.ts';
import type { Objects } from './objects.ts';
import { busRef, fetchBranch } from './remote.ts';
import type { Repository } from './repository.ts';

/** One commit to be: files added or replaced, under an author of its own (architecture, group commit). */
export interface Commit {
  author: { name: string; email: string };
  at: Date;
  subject: string;
  files: { path: string; content: string }[];
  /** A folder emptied first, for replacing it as a whole. */
  clear?: string;
}

export type Published =
  | { ok: true; tip: string; commits: number; attempts: number }
  | { ok: false; failure: Failure; attempts: number };

export interface PublishOptions {
  signal?: AbortSignal | undefined;
  /** Why nothing may be built on a tip; asked for each one that is built on. */
  refuses?: (tip: string) => Promise<string | undefined>;
  /** Turns at pushing, among those who would otherwise reject one another. */
  turns?: Turns | undefined;
}

/** What is asked of whoever coordinates; structurally the state edge's. */
export interface Turns {
  lostRace: () => void;
  take: () => Promise<
    { tip: string | undefined; end: (tip?: string) => Promise<void> } | undefined
  >;
}

const NO_COMMIT = '0'.repeat(40);
let serial = 0;
const MAX_ATTEMPTS = 20;
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
  branch: string,
  commits: readonly Commit[],
  options: PublishOptions,
): Promise<Published> {
  const { signal, turns } = options;
  for (let attempt = 1; ; attempt++) {
    const turn = repository.origin === undefined ? undefined : await turns?.take();
    if (attempt > 1 || turn?.tip !== undefined) {
      const known = (await objects.read(`${busRef(repository, branch)}^{commit}`))?.oid;
      const stale = attempt > 1 ? repository.origin !== undefined : known !== turn?.tip;
      if (attempt > 1 && turn === undefined) await backOff(attempt, signal);
      const fetched = stale ? await fetchBranch(repository.git, branch, signal) : undefined;
      if (fetched?.ok === false) {
        await turn?.end();
        return { ok: false, failure: fetched.failure, attempts: attempt - 1 };
      }
    }
    const tried = await tryOnce(repository, objects, branch, commits, options);
    await turn?.end(tried.ok ? tried.tip : undefined);
    if (tried.ok) return { ...tried, attempts: tried.commits === 0 ? attempt - 1 : attempt };
    const { failure } = tried;
    const lostRace = failure.kind === 'behind' || failure.kind === 'contention';
    if (!lostRace || attempt >= MAX_ATTEMPTS) return { ok: false, failure, attempts: attempt };
    turns?.lostRace();
  }
}

function backOff(attempt: number, signal: AbortSignal | undefined): Promise<void> {
  const longest = Math.min(MAX_BACKOFF_MS, 20 * 2 ** (attempt - 1));
  return sleep(Math.random() * longest, undefined, { ...(signal && { signal }) }).catch(
    () => undefined,
  );
}

/** Builds the commits on the tip known here and pushes them. */
async function tryOnce(
  repository: Repository,
  objects: Objects,
  branch: string,
  commits: readonly Commit[],
  { signal, refuses }: PublishOptions,
): Promise<{ ok: true; tip: string; commits: number } | { ok: false; failure: Failure }> {
  const tip =
    (await objects.read(`${busRef(repository, branch)}^{commit}`))?.oid ??
    (await localTip(objects, branch));
  const refusal = tip === undefined ? undefined : await refuses?.(tip);
  if (refusal !== undefined) return { ok: false, failure: { kind: 'refused', reason: refusal } };
  const missing = await notYetThere(objects, tip, commits);
  if (missing.length === 0 && tip !== undefined) return { ok: true, tip, commits: 0 };
  const built = await build(repository, objects, tip, missing);
  if (!built.ok) return built;
  passed('commits_built');
  const failure = await move(repository, objects, branch, tip, built.oid, signal);
  if (failure !== undefined) return { ok: false, failure };
  passed('pushed');
  return { ok: true, tip: built.oid, commits: missing.length };
}

/** Moves the bus to `to`: a push, or in solo mode the local branch; the failure, if any. */
async function move(
  repository: Repository,
  objects: Objects,
  branch: string,
  from: string | undefined,
  to: string,
  signal: AbortSignal | undefined,
): Promise<Failure | undefined> {
  const { git, origin } = repository;
  if (origin === undefined) {
    const expected = from ?? NO_COMMIT;
    const moved = await git.run([
      'update-ref',
      '-m',
      'crosstalk',
      `refs/heads/${branch}`,
      to,
      expected,
    ]);
    if (!moved.ok) return moved.failure;
    if (from !== undefined) await followBranch(repository, branch, from, to);
    return undefined;
  }
  const pushed = await git.run(
    [
      'push',
      '--porcelain',
      '--no-follow-tags',
      '--recurse-submodules=no',
      'origin',
      `${to}:refs/heads/${branch}`,
    ],
    { network: true, ...(signal === undefined ? {} : { signal }) },
  );
  if (!pushed.ok) return pushed.failure;
  // Push itself moves the tracking branch, where the clone is set up as clones are.
  const tracking = busRef(repository, branch);
  if ((await objects.read(`${tracking}^{commit}`))?.oid !== to)
    await git.run(['update-ref', tracking, to]);
  return undefined;
}

async function localTip(objects: Objects, branch: string): Promise<string | undefined> {
  return (await objects.read(`refs/heads/${branch}^{commit}`))?.oid;
}

async function notYetThere(
  objects: Objects,
  tip: string | undefined,
  commits: readonly Commit[],
): Promise<Commit[]> {
  if (tip === undefined) return [...commits];
  const missing: Commit[] = [];
  for (const commit of commits) {
    const there = await Promise.all(
      commit.files.map(async ({ path, content }) => (await objects.text(tip, path)) === content),
    );
    if (commit.clear !== undefined || there.includes(false)) missing.push(commit);
  }
  return missing;
}

/** More commits than this are left to fast-import, which packs what it writes. */
const MAX_LOOSE_COMMITS = 4;

async function build(
  repository: Repository,
  objects: Objects,
  tip: string | undefined,
  commits: readonly Commit[],
): Promise<{ ok: true; oid: string } | { ok: false; failure: Failure }> {
  const { objectsDir, committer } = repository;
  const few =
    commits.length <= MAX_LOOSE_COMMITS && commits.every(({ clear }) => clear === undefined);
  if (few && tip !== undefined && objectsDir !== undefined) {
    // What it cannot do, git does, or says why not.
    const oid = await writeLoose(objectsDir, objects, tip, commits, committer).catch(
      () => undefined,
    );
    if (oid !== undefined) return { ok: true, oid };
  }
  // fast-import wants a ref to build on. It is of this attempt alone, so no lock of a dead process
  // is in its way, and it is taken back before it is written.
  const ref = `refs/crosstalk/staging-${String(process.pid)}-${String(serial++)}`;
  const stream = commits.map((commit, index) =>
    importCommand(ref, commit, index, repository.committer, tip),
  );
  const mark = `get-mark :${String(commits.length)}`;
  const input = `feature done\n${stream.join('')}${mark}\nreset ${ref}\nfrom ${NO_COMMIT}\n\ndone\n`;
  const outcome = await repository.git.run(
    ['fast-import', '--quiet', '--force', '--date-format=raw'],
    { input },
  );
  return outcome.ok
    ? { ok: true, oid: outcome.stdout.toString('utf8').trim() }
    : { ok: false, failure: outcome.failure };
}

function importCommand(
  ref: string,
  commit: Commit,
  index: number,
  committer: { name: string; email: string },
  tip: string | undefined,
): string {
  const time = `${String(Math.floor(commit.at.getTime() / 1000))} +0000`;
  const parent = index > 0 ? `from :${String(index)}\n` : tip === undefined ? '' : `from ${tip}\n`;
  return [
    `commit ${ref}\nmark :${String(index + 1)}\n`,
    `author ${commit.author.name} <${commit.author.email}> ${time}\n`,
    `committer ${committer.name} <${committer.email}> ${time}\n`,
    data(`${commit.subject}\n`),
    parent,
    commit.clear === undefined ? '' : `D ${commit.clear}\n`,
    ...commit.files.map(({ path, content }) => `M 100644 inline ${path}\n${data(content)}`),
    '\n',
  ].join('');
}

function data(text: string): string {
  return `data ${String(Buffer.byteLength(text))}\n${text}\n`;
}
