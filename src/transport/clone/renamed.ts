import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Git } from '../git/git.ts';
import { mergeBase } from '../objects/lineage.ts';
import { readRef, writeRef } from './refs.ts';

/**
 * Makes our tracking branch of a new name what that of the old one is, and its log too, as renaming a
 * branch does: the next fetch tells what is missing there, as if it had kept its name. Without that a
 * branch that was set back before its new name was followed has lost nothing that anybody would know.
 *
 * A branch that was followed before and has nothing in common with the other is another bus: it keeps what
 * is known of itself.
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
  // What cannot be compared, since it is damaged, is no worse off with what the other knows.
  const isAnother = async (oid: string): Promise<boolean> =>
    (await mergeBase(git, oid, tip).catch(() => oid)) === undefined;
  if (known !== undefined && (await isAnother(known))) return;
  const log = join(gitDir, 'logs', after);
  await mkdir(dirname(log), { recursive: true, mode: 0o700 });
  // The branch without its log is as good as a clone that was just made.
  await copyFile(join(gitDir, 'logs', before), log).catch(() => undefined);
  await writeRef(own, after, tip);
}
