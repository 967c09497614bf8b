import { reasonOf } from '../errors.ts';
import { escapeInvisible } from '../protocol/text/quoted.ts';
import { someOf } from '../protocol/text/words.ts';
import type { Worktree, Worktrees } from '../state/worktrees.ts';
import { lookAtTree } from '../transport/worktree/look.ts';
import { removeTree } from '../transport/worktree/make.ts';
import { findSource } from '../transport/worktree/source.ts';

/** The copy of a repository in which the runs of a thread work. Shown under these names. */
export interface ListedWorktree {
  /** Its name, `<thread>/<name>`. */
  id: string;
  dir: string;
  actor: string;
  channel: string;
  /** The relPath of the thread's first message. */
  root: string;
  /** The repository that it is a copy of. */
  source: string;
  branch: string;
  /** The commit from which the branch started; null while the copy is being made. */
  base: string | null;
  /** The last commit of the branch; null if the copy cannot be inspected. */
  commit: string | null;
  /** Number of commits since the base of the branch. */
  commits: number;
  /** Number of files that are changed or new, and in no commit. */
  uncommitted: number;
  /** Whether the repository has all commits of the branch. */
  fetched: boolean;
  /** Refs of other commits that the repository does not have: branches, `tags/<tag>`, `stash`, `HEAD`. */
  others?: string[];
  /** Folders of repositories in it with content of their own. */
  repositories?: string[];
  /** Whether a run works in it. */
  in_use: boolean;
  /** Last start or end of a run in it, ISO 8601 UTC. */
  used: string;
  /** The checked-out branch, if that is not its own. */
  elsewhere?: string;
  /** The reason why its content is unknown. */
  problem?: string;
  /** Whether it was not completed, so that no run has worked in it; the next one makes it again. */
  unfinished?: true;
}

/** Milliseconds after which no process is making an unfinished copy any more. */
const MAKING_MS = 86_400_000;

/** Inspects a copy; one that cannot be inspected is described with the reason. */
export async function lookAtWorktree(
  environment: NodeJS.ProcessEnv,
  { id, dir, record }: Worktree,
  { inUse }: { inUse: boolean },
): Promise<ListedWorktree> {
  const { actor, channel, root, source, branch, base, used, ready } = record;
  const listed: ListedWorktree = {
    ...{ id, dir, actor, channel, root, source, branch, base: base ?? null, used },
    ...{ commit: null, commits: 0, uncommitted: 0, fetched: false, in_use: inUse },
  };
  if (base === undefined || !ready)
    return { ...listed, problem: 'it is not ready yet', unfinished: true };
  try {
    const tree = { dir, branch, base };
    const looked = await lookAtTree(environment, await findSource(source), tree, record.fetched);
    return { ...listed, ...looked };
  } catch (error) {
    return { ...listed, problem: reasonOf(error) };
  }
}

/** Whether nothing would be lost with a copy, and nobody is making it. */
export function isSpare(listed: ListedWorktree, now: Date): boolean {
  const { in_use, unfinished, used } = listed;
  if (in_use) return false;
  if (unfinished === true) return Date.parse(used) < now.getTime() - MAKING_MS;
  return whatIsLost(listed) === '';
}

/** Describes what would be lost with a copy, or why that is not known; empty when nothing would be. */
export function whatIsLost(listed: ListedWorktree): string {
  const { uncommitted, fetched, others, repositories, problem } = listed;
  if (problem !== undefined) return `cannot be looked at: ${problem}`;
  const files = uncommitted === 1 ? '1 file' : `${String(uncommitted)} files`;
  const lost = [
    ...(uncommitted === 0 ? [] : [`changes in ${files} that are in no commit`]),
    ...(fetched ? [] : ['commits that were not fetched']),
    ...(others ? [`commits on ${named(others)} that were not fetched`] : []),
    ...(repositories ? [`work in repositories of its own: ${named(repositories)}`] : []),
  ];
  return lost.length === 0 ? '' : `has ${lost.join(' and ')}`;
}

/** Formats some of the names that a run has given, on one line. */
function named(names: readonly string[]): string {
  return someOf(names.map(escapeInvisible));
}

/**
 * Removes a copy, whatever its content. Its record is removed last, so that the rest of an interrupted
 * removal is found again.
 *
 * @param worktree as it was when it was inspected
 * @returns false when a run has started in it since: it stays
 */
export async function dropWorktree(worktrees: Worktrees, worktree: Worktree): Promise<boolean> {
  if ((await worktrees.usedAt(worktree)) !== worktree.record.used) return false;
  await worktrees.note(worktree, { ready: false });
  await removeTree(worktree);
  await worktrees.forget(worktree);
  return true;
}
