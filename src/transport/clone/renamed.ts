import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../folder.ts';
import type { Git } from '../git/git.ts';
import { mergeBase } from '../objects/lineage.ts';
import { readRef, writeRef } from './refs.ts';

/**
 * Gives our tracking branch of a new name the commit and the log of the old name's, as renaming a
 * branch does: the next fetch then shows what is missing there, as if the branch had kept its name.
 * Without this, nobody would notice what a branch has lost that was set back before its new name
 * was followed.
 *
 * A branch that was followed before and has nothing in common with the other is another bus: it
 * keeps what is known of itself.
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
  // A branch that cannot be compared, because it is damaged, loses nothing by taking what the other
  // one knows.
  const isAnother = async (oid: string): Promise<boolean> =>
    (await mergeBase(git, oid, tip).catch(() => oid)) === undefined;
  if (known !== undefined && (await isAnother(known))) return;
  const log = join(gitDir, 'logs', after);
  await makeFolder(dirname(log), 0o700);
  // The branch without its log is as good as a clone that was just made.
  await copyFile(join(gitDir, 'logs', before), log).catch(() => undefined);
  await writeRef(own, after, tip);
}
