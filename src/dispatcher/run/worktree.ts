import { stat } from 'node:fs/promises';
import { passed } from '../../crash-points.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { type BranchOnRecord, someOf } from '../../protocol/text/words.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { chainLevels } from '../../protocol/causality.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { suffixOf } from '../../protocol/layout.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { bringBranch, leftBehind } from '../../transport/worktree/bring.ts';
import { othersOf, unfetchedIn, commitsAt } from '../../transport/worktree/look.ts';
import { makeTree } from '../../transport/worktree/make.ts';
import { branchTip, findSource, nameOf } from '../../transport/worktree/source.ts';
import type { Briefing } from './briefing.ts';
import type { TreePlace, PlaceApp } from './workplace.ts';
import { workdirOf } from '../staging/workdir.ts';
import type { FoundSecret } from '../../protocol/text/secrets.ts';
import { addedBy } from '../../transport/worktree/added.ts';
import { gitForRemote, pushBranch } from '../../transport/worktree/push.ts';

/** Whose copy it is. */
interface Worker {
  actor: string;
  tier: Pick<Tier, 'worktree' | 'worktreeFrom' | 'before' | 'timeout'>;
  thread: { channel: string; root: string };
  /** The branch on which the work goes on; see {@link branchBefore}. */
  preferred?: string | undefined;
}

/** Ending of the command that prepares a copy. */
type Prepared = Pick<InvocationResult, 'exitCode' | 'signal' | 'timedOut'>;

/** Runs a command line in a new copy. */
export type Prepare<T extends Prepared = Prepared> = (command: string, dir: string) => Promise<T>;

/** Reason why a copy could not be made ready: in the words of the command that prepares it. */
export type Opened<T extends Prepared> =
  { ok: true; place: TreePlace } | { ok: false; result: T; detail: string };

/**
 * Returns the copy in which a run of a thread works (work.md), made and prepared if it is new. It is the caller's
 * until `worktrees.leave`, also when this throws.
 *
 * The order, for a crash between any two steps: its record, which marks it as not ready → the copy → the commit with
 * which it starts → the command that prepares it → ready. A copy that is not ready is made anew.
 *
 * @throws CrosstalkError `invalid`, `git_failed` when there can be no copy
 */
export async function openWorktree<T extends Prepared>(
  app: PlaceApp,
  { actor, tier, thread, preferred }: Worker,
  prepare: Prepare<T>,
  signal: AbortSignal,
): Promise<Opened<T>> {
  const { worktrees, now, env, log } = app;
  const folder = await workdirOf(app, tier.worktree ?? '', 'worktree');
  const source = await findSource(folder);
  const wanted = {
    ...{ actor, channel: thread.channel, root: thread.root, source: source.dir },
    ...{ thread: suffixOf(thread.root) || SESSION, name: nameOf(source), preferred },
  };
  let worktree = await worktrees.open(wanted, now());
  passed('tree_recorded');
  try {
    const { dir } = worktree;
    const { branch, ready, base } = worktree.record;
    if (ready && base !== undefined && (await isFolder(dir)))
      return { ok: true, place: { worktree, source, tree: { dir, branch, base } } };
    // A thread whose copy was removed goes on where its branch is.
    const from = (await branchTip(source, branch)) !== undefined ? branch : tier.worktreeFrom;
    const made = await makeTree(env, source, { actor, dir, branch, from }, signal);
    worktree = await worktrees.note(worktree, { base: base ?? made.base, ready: false });
    const tree = { ...made, base: base ?? made.base };
    log('worktree_made', { actor, dir, branch, base: tree.base });
    if (tier.before !== undefined) {
      const result = await prepare(tier.before, dir);
      if (result.exitCode !== 0) {
        await worktrees.note(worktree, { ready: false });
        worktrees.leave(worktree);
        return { ok: false, result, detail: whyNotReady(tier.before, result) };
      }
    }
    passed('tree_prepared');
    worktree = await worktrees.note(worktree, { ready: true });
    return { ok: true, place: { worktree, source, tree } };
  } catch (error) {
    // Of a copy that was never made nothing is left to know.
    if (worktree.record.base === undefined && !(await isFolder(worktree.dir)))
      await worktrees.forget(worktree).catch(() => undefined);
    worktrees.leave(worktree);
    throw error;
  }
}

/** Name of copies of sessions with an actor, in place of a thread. */
const SESSION = 'session';

function whyNotReady(command: string, { exitCode, signal, timedOut }: Prepared): string {
  if (timedOut) return `the command before the first run, ${command}, took too long`;
  const how =
    exitCode === null
      ? `was ended by ${signal ?? 'a signal'}`
      : `ended with exit code ${String(exitCode)}`;
  return `the command before the first run, ${command}, ${how}`;
}

/** Ends the use of a copy, whatever the outcome of its run, and notes the time. */
export async function leaveWorktree(app: PlaceApp, { worktree }: TreePlace): Promise<void> {
  const { worktrees, now } = app;
  try {
    await worktrees.note(worktree, { used: now().toISOString() }).catch(() => undefined);
  } finally {
    worktrees.leave(worktree);
  }
}

/**
 * Brings the commits of a run into the repository, and pushes them on where the tier asks for it. A failure there is
 * no reason to lose the answer of the run: it is reported beside it.
 *
 * @returns the note in the answer about the branch; undefined as long as it has no commit
 */
export async function bringBack(
  app: PlaceApp,
  place: TreePlace,
  tier: Pick<Tier, 'worktreePush'>,
  signal: AbortSignal,
): Promise<BranchOnRecord | undefined> {
  const { env, worktrees, log } = app;
  const { source, tree } = place;
  const { branch, base } = tree;
  const { fetched, pushed } = place.worktree.record;
  try {
    const brought = await bringBranch(env, source, tree, fetched, signal);
    const { commit, changed, held } = brought;
    const isBegun = commit !== base || fetched !== undefined;
    if (isBegun && held === undefined)
      place.worktree = await worktrees.note(place.worktree, { fetched: commit });
    passed('branch_noted');
    const problems = held === undefined ? [] : [held];
    const { worktreePush: remote } = tier;
    if (isBegun && remote !== undefined && commit !== pushed) {
      const why = await whyNotPushed(app, place, { remote, commit, last: pushed }, signal);
      if (why !== undefined) problems.push(why);
    }
    const others = othersOf(await unfetchedIn(env, source, tree, commit), tree, commit);
    if (others.length > 0)
      problems.push(`not fetched: ${someOf(others.map(escapeInvisible))}, in the copy ${tree.dir}`);
    else if (!isBegun) return undefined;
    if (problems.length > 0) log('branch_held', { branch, commit, reason: problems.join('; ') });
    const words = problems.join('; ').slice(0, MOST_WORDS);
    return { name: branch, commit, base, changed, ...(words !== '' && { held: words }) };
  } catch (error) {
    const reason = reasonOf(error);
    log('branch_held', { branch, reason });
    const left = await leftBehind(env, source, tree);
    return left && { name: branch, ...left, base, held: reason.slice(0, MOST_WORDS) };
  }
}

const MOST_WORDS = 300;

async function whyNotPushed(
  app: PlaceApp,
  place: TreePlace,
  to: { remote: string; commit: string; last: string | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await pushSearched(app, place, to, signal);
    place.worktree = await app.worktrees.note(place.worktree, { pushed: to.commit });
    return undefined;
  } catch (error) {
    if (!(error instanceof CrosstalkError) || error.code === 'aborted') throw error;
    return error.message;
  }
}

/** Returns the branch of the nearest answer of the actor to which a batch leads: where the work goes on. */
export function branchBefore(
  actor: string,
  host: string,
  { batch, lookup }: Briefing,
): string | undefined {
  for (const level of chainLevels(batch, lookup))
    for (const { message } of level)
      if (message.from === actor && message.host === host && message.branch !== undefined)
        return message.branch.name;
  return undefined;
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/**
 * Pushes a branch to a remote of the repository, unless the content of commits that are not there yet looks like a
 * secret (work.md, "Nothing secret leaves"): a person looks at it then, and pushes it by hand, or does not.
 *
 * @throws CrosstalkError `held`, which names the finding without showing it; `git_failed`
 */
async function pushSearched(
  { env, screen }: PlaceApp,
  { source, tree }: TreePlace,
  to: { remote: string; commit: string; last: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const held = (why: string): CrosstalkError =>
    new CrosstalkError(
      'held',
      `the branch ${tree.branch} is not pushed to ${to.remote}, as ${why}; look at it, and push it yourself from ${source.dir} if nobody minds`,
    );
  const git = await gitForRemote(env, source, tree, to.remote);
  const known = await commitsAt(git, source, to.remote, signal);
  const added = await addedBy(git, to.commit, known, signal);
  if (added === undefined) throw held('it is too large to be searched for secrets');
  const author = { name: '', email: '' };
  const commits = [{ author, at: '', subject: '', files: added }];
  const found = await screen.look({ commits }).catch((error: unknown) => {
    throw held(`it cannot be searched for secrets: ${reasonOf(error)}`);
  });
  if (found.length > 0) throw held(`it looks as if it had ${said(found)}`);
  await pushBranch(git, tree, to, signal);
}

/** Lines are left out: they are none of the file, but of its changes. */
function said(found: readonly FoundSecret[]): string {
  const all = [...new Set(found.map(({ kind, where }) => `${kind} in ${where}`))];
  const more = all.length > 3 ? ` and ${String(all.length - 3)} more` : '';
  return `${all.slice(0, 3).join(', ')}${more}`;
}
