import { diffWorktree, showWorktree } from '../../../operations/worktrees/find.ts';
import { listWorktrees, type ListedWorktree } from '../../../operations/worktrees/list.ts';
import {
  pruneWorktrees,
  removeWorktree,
  whatIsLost,
} from '../../../operations/worktrees/remove.ts';
import type { Context } from '../../../operations/context.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { flag, inTransport, note, print, type Call } from '../../command/command.ts';
import { durationOf } from '../../command/values.ts';
import { table } from '../../view/render.ts';
import { ageOf } from '../../../present/times.ts';

const LONGEST_MS = 1000 * 86_400_000;

export function run(call: Call): Promise<number> {
  const [given = ''] = call.args;
  return inTransport(call, async (context) => {
    switch (call.name) {
      case 'worktree show': {
        const listed = await showWorktree(context, given);
        return print(call, listed, () => facts(listed));
      }
      case 'worktree diff':
        return diff(call, context, given);
      case 'worktree remove': {
        const removed = await removeWorktree(context, { given, force: flag(call, 'force') });
        return print(call, removed, () => `Removed: ${removed.dir}`);
      }
      case 'worktree prune':
        return prune(call, context);
      default: {
        const all = await listWorktrees(context);
        return print(call, all, () => list(context, all));
      }
    }
  });
}

function list({ now }: Context, all: readonly ListedWorktree[]): string {
  return table(
    all.map((one) => [
      one.id,
      one.actor,
      escapeInvisible(one.source),
      one.branch,
      state(one),
      `${ageOf(Math.max(0, Math.round((now().getTime() - Date.parse(one.used)) / 1000)))} ago`,
    ]),
  );
}

/** What is in a copy, in a few words. */
function state(one: ListedWorktree): string {
  if (one.problem !== undefined) return escapeInvisible(one.problem);
  return [
    one.commits === 1 ? '1 commit' : `${String(one.commits)} commits`,
    ...(one.fetched ? [] : ['not fetched']),
    ...(one.uncommitted > 0 ? [`${String(one.uncommitted)} uncommitted`] : []),
    ...(one.others ? [`more on ${one.others.map(escapeInvisible).join(', ')}`] : []),
    ...(one.repositories ? [`work in ${one.repositories.map(escapeInvisible).join(', ')}`] : []),
    ...(one.in_use ? ['in use'] : []),
  ].join(', ');
}

function facts(listed: ListedWorktree): string {
  return table(
    Object.entries(listed).map(([name, value]) => [name, escapeInvisible(String(value ?? '-'))]),
  );
}

async function diff(call: Call, context: Context, given: string): Promise<number> {
  const shown = await diffWorktree(context, given);
  if (shown.uncommitted > 0)
    note(call, `${String(shown.uncommitted)} more files are in no commit; see ${shown.dir}`);
  if (shown.cut) note(call, `the rest is left out; see it with: git -C ${shown.dir} diff`);
  return print(call, shown, () => shown.patch.replace(/\n$/, ''));
}

async function prune(call: Call, context: Context): Promise<number> {
  const unused = durationOf(call, 'unused', { fallback: '0s', least: 0, most: LONGEST_MS });
  const done = await pruneWorktrees(context, { unused });
  return print(call, done, () =>
    [
      ...done.removed.map(({ id }) => `Removed: ${id}`),
      ...done.kept.map((one) => `Kept: ${one.id}${why(one)}`),
    ].join('\n'),
  );
}

function why(one: ListedWorktree): string {
  if (one.in_use) return ', a run is at work in it';
  const lost = whatIsLost(one);
  return lost === '' ? '' : `, it ${lost}`;
}
