import type { WebMachine } from '../../api/now.ts';
import { silenceLimit, type Heartbeat } from '../../state/heartbeat.ts';

/**
 * Returns the other machines of a transport, by the reports of the bell; undefined without a bell. A machine that was
 * heard and is not a host of the transport does not appear.
 *
 * @param hosts the aliases of the transport's hosts
 */
export function otherMachines(
  heartbeat: Pick<Heartbeat, 'bell' | 'host'> | null | undefined,
  hosts: readonly string[],
  now: Date,
): WebMachine[] | undefined {
  const bell = heartbeat?.bell;
  if (bell === undefined) return undefined;
  const heard = new Map(bell.machines.map((one) => [one.host, one]));
  return hosts
    .filter((alias) => alias !== heartbeat?.host)
    .map((alias) => {
      const one = heard.get(alias);
      if (one === undefined)
        return { alias, live: false, heard_s: null, version: null, running: [], held: 0 };
      const age = Math.max(0, Math.round((now.getTime() - Date.parse(one.at)) / 1000));
      const live = age <= silenceLimit(one.every);
      const { version, running, held } = one;
      return {
        alias,
        live,
        heard_s: age,
        version,
        ...(live ? { running, held } : { running: [], held: 0 }),
      };
    });
}
