import type { CommandSpec } from '../command/spec.ts';

/** What `init` takes in a project, whose own remote carries the bus. */
export const IN_PROJECT: NonNullable<CommandSpec['options']> = [
  ['--public', 'in a project: everybody may read the bus, since everybody can read the project'],
  [
    '--anyone-who-can-push',
    'in a project: the actor serves everybody who can push, not only keys pinned here',
  ],
  ['--as-branch', 'in a project whose remote takes no other ref: the branch crosstalk-bus'],
  ['--join <url>', 'in a fork or a mirror: join the original bus at this address'],
];

export const PROJECT_DETAILS =
  'In a git project, without [dir], the bus is the ref refs/crosstalk/bus at the project\u2019s own remote, which clones, branches and CI do not see.';

export const CHECKOUT: CommandSpec = {
  name: 'checkout',
  args: '<dir>',
  summary: 'put the files of the bus before your eyes, in a folder that follows it',
  details:
    'The folder is a link to the clone of the bus, for an editor or a file manager. Remove it with: rm <dir>',
  notInRun: 'for people: a run has no use for it',
  example: 'crosstalk checkout ~/app-bus',
  load: () => import('../commands/work/checkout.ts'),
};
