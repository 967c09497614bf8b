import type { CommandSpec } from '../command/spec.ts';

const load: CommandSpec['load'] = () => import('../commands/work/worktree.ts');

/** The rows of the command table about where agents work: copies of repositories, and sandboxes. */
export const WORKTREE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'worktree list',
    summary: 'the copies of repositories on this machine, and what is in them',
    example: 'crosstalk worktree list',
    paged: true,
    load,
  },
  {
    name: 'worktree show',
    args: '<worktree>',
    summary: 'one copy: where it is, its branch, and what was not committed or fetched',
    details:
      'It is named by its thread, its branch, or a message: the first of the thread, or an answer.',
    example: 'crosstalk worktree show 1f2e3d4c',
    load,
  },
  {
    name: 'worktree diff',
    args: '<worktree>',
    summary: 'what the commits of a thread have changed, as a patch',
    example: 'crosstalk worktree diff 1f2e3d4c',
    paged: true,
    load,
  },
  {
    name: 'worktree remove',
    args: '<worktree>',
    summary: 'remove a copy; its branch in the repository stays',
    options: [
      ['--force', 'also with changes that are in no commit, or commits that were not fetched'],
    ],
    example: 'crosstalk worktree remove 1f2e3d4c',
    load,
  },
  {
    name: 'worktree prune',
    summary: 'remove the copies with which nothing is lost',
    options: [['--unused <duration>', 'only where no run has worked for so long, such as 7d']],
    example: 'crosstalk worktree prune',
    load,
  },
  {
    name: 'sandbox run',
    args: '<command...>',
    summary: 'run a command in the sandbox of an actor, in this folder',
    options: [
      [
        '--actor <name>',
        'the sandbox of this actor of the machine (default: that of sandbox=default)',
      ],
      ['--tier <tier>', 'of this tier (default: the first one)'],
    ],
    interrupt: 'child',
    details: 'It may write to the current folder. What it may not reach is said on stderr.',
    example: 'crosstalk sandbox run -- npm test',
    load: () => import('../commands/work/sandbox.ts'),
  },
];
