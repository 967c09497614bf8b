import { ALLOW_SECRET, FROM, type CommandSpec } from '../command/spec.ts';

const load: CommandSpec['load'] = () => import('../commands/work/decide.ts');
const ONLY_PEOPLE = 'only a person decides, in a terminal of their own';
const OPTIONS: CommandSpec['options'] = [
  FROM,
  ['--yes', 'do not ask on a terminal after showing it'],
  ALLOW_SECRET,
  ['--no-wait', 'return as soon as the decision is safely queued'],
];

/** The rows of the command table with which a person decides on what an actor proposes. */
export const DECIDING_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'approve',
    args: '<message> [why]',
    summary: 'let an actor do what a message proposes',
    options: OPTIONS,
    notInRun: ONLY_PEOPLE,
    details:
      'Shows what is approved, and decides on exactly that text. It counts on the host that asked if it is made there, or signed with a key that is pinned there for your name. What you say with it goes to the actor.',
    example: 'crosstalk approve 1f2e3d4c "but leave the tests alone"',
    load,
  },
  {
    name: 'deny',
    args: '<message> [why]',
    summary: 'keep an actor from what a message proposes',
    options: OPTIONS,
    notInRun: ONLY_PEOPLE,
    details:
      'Counts as an approval does. Of a plan, the reason is the answer to whoever asked; a new plan is made when somebody asks anew in the thread.',
    example: 'crosstalk deny 1f2e3d4c "too risky before the release"',
    load,
  },
];
