import { join } from 'node:path';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { onCheckout, readPatterns } from './on-checkout.ts';
import { replace } from '../clone/own-git.ts';
import type { Repository } from '../clone/handle.ts';

/** A file that git finds changed; `git status` explains the letters. */
export interface Changed {
  staged: string;
  unstaged: string;
  path: string;
}

export type CheckoutStatus = { ok: true; changed: Changed[] } | { ok: false; reason: string };

/** Returns the files changed in the checkout since a commit, without untracked ones. */
export async function statusOf(
  repository: Repository,
  head: string | undefined,
): Promise<CheckoutStatus> {
  if (head === undefined) return { ok: true, changed: [] };
  // Status compares with HEAD, and only our own HEAD may be read.
  await replace(join(repository.gitDir, 'HEAD'), `${head}\n`);
  const cone = isCone(await readPatterns(repository));
  const args = [
    ...['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no'],
    // Otherwise git starts another git in the folder of a submodule, which obeys the configuration
    // there.
    '--ignore-submodules=dirty',
  ];
  const said = await onCheckout(repository, args, { cone });
  if (!said.ok) return { ok: false, reason: said.failure.reason };
  const lines = said.stdout.toString('utf8').split('\0').slice(0, -1);
  const changed = lines.map((line) => ({
    staged: line.charAt(0),
    unstaged: line.charAt(1),
    path: line.slice(3),
  }));
  return { ok: true, changed };
}

/** Returns the reason that names an operator's file in the place of a file of the bus. */
export function inTheWayReason(path: string): string {
  return `a file that is not on the bus is in the way: ${escapeInvisible(path)}`;
}

/** Whether patterns are those of whole folders (see `showingOf`). */
export function isCone(patterns: string): boolean {
  return patterns.startsWith('/*\n');
}

/** Returns a test of whether our patterns show a path; without patterns all paths are shown. */
export function shownBy(patterns: string): (path: string) => boolean {
  if (patterns === '') return () => true;
  const lines = new Set(patterns.split('\n'));
  return (path) => {
    let folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (lines.has(`/${path}`)) return true;
    if (isCone(patterns) && (folder === '' || lines.has(`!/${folder}/*/`))) return true;
    for (; folder !== ''; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/'))))
      if (lines.has(`/${folder}/`) && !lines.has(`!/${folder}/*/`)) return true;
    return false;
  };
}
