import { wake } from '../../operations/upkeep/wake.ts';
import { inTransport, print, type Call } from '../command/command.ts';

export function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const woken = await wake(context);
    return print(call, woken, () => `Woken: process ${String(woken.pid)}`);
  });
}
