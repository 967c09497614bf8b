import type { WebHostSaid, WebHostWord, WebMachine, WebSaidCount } from '../../api/machines.ts';
import { readHostReports } from '../../bus/host-reports.ts';
import type { Reported } from '../../protocol/files/host-report.ts';
import { tipOf, type Context } from '../context.ts';
import { channelsOf, hostsOf } from '../view.ts';
import { lastHeard } from './heard.ts';

/**
 * What the hosts of the transport have said of themselves on the bus, by alias.
 *
 * @param nameOf the name of a channel, by its id
 */
export async function saidByHosts(
  context: Context,
  nameOf: (channel: string) => string,
): Promise<Map<string, WebHostSaid>> {
  const { transport, now } = context;
  const [tip, hosts] = await Promise.all([tipOf(context), hostsOf(context)]);
  const reports = await readHostReports(transport, tip, hosts, now());
  const named = ({ count, items }: Reported): WebSaidCount => ({
    count,
    messages: items.map((item) => ({ ...item, channel_name: nameOf(item.channel) })),
  });
  return new Map(
    [...reports].map(([alias, { at, running, waiting, failed }]) => [
      alias,
      { at, running: named(running), waiting: named(waiting), failed: named(failed) },
    ]),
  );
}

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
  const names = new Map((await channelsOf(context)).map(({ id, name }) => [id, name]));
  const hosts = (await hostsOf(context)).flatMap(({ result }) =>
    result.ok ? [result.value.alias] : [],
  );
  const aliases = new Set(hosts);
  const [said, wrote] = await Promise.all([
    saidByHosts(context, (id) => names.get(id) ?? id),
    lastHeard(context, await tipOf(context), aliases),
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
