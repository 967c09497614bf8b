import { endWarmSession, warmSessions } from '../../../operations/health/warm-sessions.ts';
import { inTransport, print, type Call } from '../../command/command.ts';
import { table } from '../../view/render.ts';
import { warmRows } from '../../view/machine.ts';

export function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    if (call.name === 'session end') {
      const ended = await endWarmSession(context, call.args[0] ?? '');
      return print(call, ended, () => `Ended: the session of ${ended.actor} with ${ended.agent}`);
    }
    const all = await warmSessions(context);
    return print(call, all, () => (all.length === 0 ? 'none is kept' : table(warmRows(all))));
  });
}
