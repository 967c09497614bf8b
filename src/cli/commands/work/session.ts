import { endWarmSession, warmSessions } from '../../../actions/health/warm-sessions.ts';
import { inTransport, print, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';
import { table } from '../../view/render.ts';
import { warmRows } from '../../view/machine.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'session list',
    summary: 'the processes of agent CLIs that this machine keeps between runs',
    details: 'A tier keeps them with session: warm.',
    notInRun: 'what a machine keeps is for its operator',
    example: 'crosstalk session list',
    run,
  },
  {
    name: 'session end',
    args: '<session>',
    summary: 'end one that has nothing to do; the next run of its thread begins anew',
    notInRun: 'what a machine keeps is for its operator',
    example: 'crosstalk session end 01JXAMPLE0000000000000000A',
    run,
  },
];

function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    if (call.name === 'session end') {
      const ended = await endWarmSession(context, call.args[0] ?? '');
      return print(call, ended, () => `Ended: the session of ${ended.actor} with ${ended.agent}`);
    }
    const all = await warmSessions(context);
    return print(call, all, () => (all.length === 0 ? 'none is kept' : table(warmRows(all))));
  });
}
