import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WebBranchDiff } from '../../api/api.ts';
import { CrosstalkError } from '../../errors.ts';
import type { BranchOnRecord } from '../../protocol/text/words.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { Worktrees } from '../../state/worktrees.ts';
import type { Clone } from '../../transport/clone/clone.ts';
import { diffOnBranch, type Patch } from '../../transport/worktree/look.ts';
import { branchTip, findSource } from '../../transport/worktree/source.ts';
import { partsOf, tipOfTree } from '../../transport/worktree/tree.ts';
import type { Context } from '../context.ts';
import { readMessage, type ReadMessage } from '../reading/read.ts';
import { knownHost } from '../setup/approvals.ts';

/** Maximum bytes, and maximum lines, of a patch on the page. */
const MOST = 256 * 1024;
const MOST_LINES = 4000;

/** A patch, and the folder in which the branch was found. */
type Found = Patch & { place: string };

/**
 * Returns the changes of the branch of an answer, from the repository of this machine or its copy. The statement of
 * the answer about its branch is a claim: only branches of threads are read, in the repositories that an operator has
 * approved for its writer, and only commits that are on them.
 *
 * @throws CrosstalkError `not_found` when the message names no branch, or this machine does not have it; and as
 * `resolveMessage` does
 */
export async function branchDiff(context: Context, given: string): Promise<WebBranchDiff> {
  const read = await readMessage(context, given);
  const { branch, host } = read.message;
  if (branch === undefined) throw new CrosstalkError('not_found', 'the message tells of no branch');
  const found =
    (await inCopies(context, read, branch)) ?? (await inRepositories(context, read, branch));
  if (found === undefined)
    throw new CrosstalkError(
      'not_found',
      `the branch ${branch.name} with the commit ${branch.commit} is not known on this machine${host === undefined ? '' : `; it was worked on ${host}`}: see it there with: crosstalk worktree diff ${read.relPath}`,
    );
  const lines = found.patch.split('\n');
  return {
    ...branch,
    place: found.place,
    patch: lines.slice(0, MOST_LINES).map(drawn).join('\n'),
    cut: found.isCut || lines.length > MOST_LINES,
  };
}

/**
 * Looks in the copies in which the writer works in this channel, and in the repositories into which they
 * were fetched.
 */
async function inCopies(
  { env, paths }: Context,
  { channel, message }: ReadMessage,
  { name, commit }: BranchOnRecord,
): Promise<Found | undefined> {
  for (const { dir, record } of await new Worktrees(paths.worktrees).all()) {
    const { actor, branch, base } = record;
    if (branch !== name || actor !== message.from || record.channel !== channel.id) continue;
    if (base === undefined) continue;
    const tree = { dir, branch, base };
    const source = await findSource(record.source).catch(() => undefined);
    if (source === undefined) continue;
    const parts = { source, tree };
    const fetched = await onBranch(env, parts, commit, source, () => branchTip(source, name));
    if (fetched !== undefined) return { ...fetched, place: source.dir };
    const copy = await partsOf(tree).catch(() => undefined);
    if (copy === undefined) continue;
    const kept = await onBranch(env, parts, commit, copy, () => tipOfTree(tree));
    if (kept !== undefined) return { ...kept, place: dir };
  }
  return undefined;
}

/** Looks in the approved repositories of its writer: a copy may be gone while its branch is in the repository. */
async function inRepositories(
  context: Context,
  { message }: ReadMessage,
  { name, commit, base }: BranchOnRecord,
): Promise<Found | undefined> {
  if (!name.startsWith('crosstalk/')) return undefined;
  const { host } = await knownHost(context, undefined);
  const tiers = host?.inForce.get(message.from) ?? [];
  const home = context.env['HOME'] ?? '';
  const folders = new Set(tiers.flatMap(({ worktree }) => worktree ?? []));
  for (const folder of folders) {
    const source = await findSource(folder.replace(/^~(?=\/|$)/, home)).catch(() => undefined);
    if (source === undefined) continue;
    const room = await mkdtemp(join(tmpdir(), 'crosstalk-branch-'));
    try {
      const parts = { source, tree: { dir: join(room, 'of'), branch: name, base } };
      const found = await onBranch(context.env, parts, commit, source, () =>
        branchTip(source, name),
      );
      if (found !== undefined) return { ...found, place: source.dir };
    } finally {
      await rm(room, { recursive: true, force: true });
    }
  }
  return undefined;
}

/**
 * Returns the patch of a commit if it is on the branch. A repository that cannot be read does not have
 * the branch.
 */
async function onBranch(
  env: NodeJS.ProcessEnv,
  parts: Parameters<typeof diffOnBranch>[1],
  commit: string,
  objects: Clone,
  tipOf: () => Promise<string | undefined>,
): Promise<Patch | undefined> {
  try {
    const tip = await tipOf();
    if (tip === undefined) return undefined;
    return await diffOnBranch(env, parts, commit, { objects, tip, most: MOST });
  } catch (error) {
    if (error instanceof CrosstalkError) return undefined;
    throw error;
  }
}

/** Returns a line in which everything is visible: nothing in it changes the direction of the text, or hides. */
function drawn(line: string): string {
  return line.split('\t').map(escapeInvisible).join('\t');
}
