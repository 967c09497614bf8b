import type { WebHostWord, WebMachine } from '../../api/machines.ts';
import { readHostReports } from '../../bus/host-reports.ts';
import { tipOf, type Context } from '../context.ts';
import { hostsOf } from '../view.ts';
import { lastHeard } from './heard.ts';

/**
 * Every host of the transport, with when it was last heard of by its messages, its report or the bell.
 *
 * @param here the alias of this machine
 * @param machines the other machines, where a bell tells of them
 */
export async function hostWords(
  context: Context,
  here: string | undefined,
  machines: readonly WebMachine[] = [],
): Promise<WebHostWord[]> {
  const [tip, hosts] = [await tipOf(context), await hostsOf(context)];
  const aliases = new Set(hosts.flatMap(({ result }) => (result.ok ? [result.value.alias] : [])));
  const [said, wrote] = await Promise.all([
    readHostReports(context.transport, tip, hosts, context.now()),
    lastHeard(context, tip, aliases),
  ]);
  const rung = new Map(machines.map(({ alias, heard_s: age }) => [alias, age]));
  const now = context.now().getTime();
  const since = (time: string | null | undefined): number | null =>
    time ? Math.max(0, Math.round((now - Date.parse(time)) / 1000)) : null;
  return [...aliases].map((alias) => {
    const word = said.get(alias) ?? null;
    const ages = [since(wrote.get(alias)), since(word?.at), rung.get(alias) ?? null];
    const known = ages.flatMap((age) => (age === null || Number.isNaN(age) ? [] : [age]));
    return {
      ...{ alias, this_machine: alias === here, said: word, said_s: since(word?.at) },
      heard_s: known.length === 0 ? null : Math.min(...known),
    };
  });
}
