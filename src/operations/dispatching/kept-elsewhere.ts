import type { Elsewhere, Idle } from '../../dispatcher/sessions/room.ts';
import { statePaths } from '../../state/state-paths.ts';
import { Runs } from '../../state/runs.ts';
import { KeptProcesses } from '../../state/sessions/kept-processes.ts';
import { endWarmSession } from '../health/warm-sessions.ts';
import { statesIn } from './serving.ts';

/**
 * The processes of agent CLIs that this machine keeps for other transports of this user.
 *
 * @param home the folder of all transports' state
 * @param own the state directory of this transport
 */
export async function keptElsewhere(home: string, own: string): Promise<Elsewhere> {
  let count = 0;
  const idle: Idle[] = [];
  for (const state of await statesIn(home)) {
    if (state === own) continue;
    const paths = statePaths(state);
    const alive = await new KeptProcesses(paths.root).alive().catch(() => []);
    count += alive.length;
    if (alive.length === 0) continue;
    const runs = await new Runs(paths.root).leftovers().catch(() => []);
    const end = (id: string): Promise<boolean> =>
      endWarmSession({ paths }, id).then(
        () => true,
        () => false,
      );
    for (const { id, used } of alive)
      if (!runs.some(({ desk }) => desk === id)) idle.push({ used, end: () => end(id) });
  }
  return { count, idle };
}
