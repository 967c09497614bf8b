import {
  diffWorktree,
  type ListedWorktree,
  listWorktrees,
  pruneWorktrees,
  removeWorktree,
  showWorktree,
  whatIsLost,
} from '../../../actions/worktrees/worktrees.ts';
import type { Context } from '../../../actions/context.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { flag, note, print, type Call, usingTransport } from '../../command/command.ts';
import { durationOf } from '../../command/values.ts';
import { table } from '../../view/render.ts';
import { ageOf } from '../../../present/times.ts';
import type { CommandSpec } from '../../command/spec.ts';

const LONGEST_MS = 1000 * 86_400_000;

export const commands: readonly CommandSpec[] = [
  {
    name: 'worktree list',
    summary: 'the copies of repositories on this machine, and what is in them',
    example: 'crosstalk worktree list',
    paged: true,
    run: usingTransport(list),
  },
  {
    name: 'worktree show',
    args: '<worktree>',
    summary: 'one copy: where it is, its branch, and what was not committed or fetched',
    details:
      'It is named by its thread, its branch, or a message: the first of the thread, or an answer.',
    example: 'crosstalk worktree show 1f2e3d4c',
    run: usingTransport(show),
  },
  {
    name: 'worktree diff',
    args: '<worktree>',
    summary: 'what the commits of a thread have changed, as a patch',
    example: 'crosstalk worktree diff 1f2e3d4c',
    paged: true,
    run: usingTransport(diff),
  },
  {
    name: 'worktree remove',
    args: '<worktree>',
    summary: 'remove a copy; its branch in the repository stays',
    options: [
      ['--force', 'also with changes that are in no commit, or commits that were not fetched'],
    ],
    example: 'crosstalk worktree remove 1f2e3d4c',
    run: usingTransport(remove),
  },
  {
    name: 'worktree prune',
    summary: 'remove the copies with which nothing is lost',
    options: [['--unused <duration>', 'only where no run has worked for so long, such as 7d']],
    example: 'crosstalk worktree prune',
    run: usingTransport(prune),
  },
];

async function list(call: Call, context: Context): Promise<number> {
  const all = await listWorktrees(context);
  return print(call, all, () => rows(context, all));
}

async function show(call: Call, context: Context): Promise<number> {
  const listed = await showWorktree(context, call.args[0] ?? '');
  return print(call, listed, () => facts(listed));
}

async function remove(call: Call, context: Context): Promise<number> {
  const input = { given: call.args[0] ?? '', force: flag(call, 'force') };
  const removed = await removeWorktree(context, input);
  return print(call, removed, () => `Removed: ${removed.dir}`);
}

function rows({ now }: Context, all: readonly ListedWorktree[]): string {
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

/** Words the content of a copy. */
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

async function diff(call: Call, context: Context): Promise<number> {
  const shown = await diffWorktree(context, call.args[0] ?? '');
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
