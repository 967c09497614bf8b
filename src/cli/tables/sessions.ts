import type { CommandSpec } from '../command/spec.ts';

const load: CommandSpec['load'] = () => import('../commands/work/session.ts');

/** The rows of the command table about processes of agent CLIs that are kept between runs. */
export const SESSION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'session list',
    summary: 'the processes of agent CLIs that this machine keeps between runs',
    details: 'A tier keeps them with session: warm.',
    notInRun: 'what a machine keeps is for its operator',
    example: 'crosstalk session list',
    load,
  },
  {
    name: 'session end',
    args: '<session>',
    summary: 'end one that has nothing to do; the next run of its thread begins anew',
    notInRun: 'what a machine keeps is for its operator',
    example: 'crosstalk session end 01JXAMPLE0000000000000000A',
    load,
  },
];
