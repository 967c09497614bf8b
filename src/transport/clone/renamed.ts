import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../folder.ts';
import type { Git } from '../git/git.ts';
import { mergeBase } from '../objects/lineage.ts';
import { readRef, writeRef } from './refs.ts';

/**
 * Copies the commit and the log of our tracking branch to its new name, as renaming a branch does: the
 * next fetch then shows what is missing there, as if the branch had kept its name. Without this, nobody
 * would notice what a branch has lost when it was set back before its new name was followed.
 *
 * A branch that was followed before and shares no history with the old one is another bus: it keeps its
 * own commit and log.
 *
 * @param gitDir our own git directory
 */
export async function carryOver(git: Git, gitDir: string, from: string, to: string): Promise<void> {
  const own = { dir: gitDir, gitDir, commonDir: gitDir, isPrivate: true };
  const [before, after] = [from, to].map((branch) => `refs/remotes/origin/${branch}`) as [
    string,
    string,
  ];
  const tip = await readRef(own, before);
  if (tip === undefined) return;
  const known = await readRef(own, after);
  // A damaged branch, which cannot be compared, loses nothing by taking the other's commit and log.
  const isAnother = async (oid: string): Promise<boolean> =>
    (await mergeBase(git, oid, tip).catch(() => oid)) === undefined;
  if (known !== undefined && (await isAnother(known))) return;
  const log = join(gitDir, 'logs', after);
  await makeFolder(dirname(log), 0o700);
  // A branch without its log is equivalent to a new clone.
  await copyFile(join(gitDir, 'logs', before), log).catch(() => undefined);
  await writeRef(own, after, tip);
}
