import { type Context, tipOf } from '../context.ts';
import { CHUNK, readFiles, newestFirst } from './arrivals.ts';
import type { WebHostWord, WebMachine } from '../../api/now.ts';
import { readHostReports } from '../../bus/host-reports.ts';
import { hostsOf } from '../view.ts';

/** The most messages in which a sign of a host is looked for. */
const LOOKED_AT = 500;

/**
 * Returns when some hosts last wrote a message; null for those that wrote none of the newest ones. A host that runs
 * nothing writes nothing, so silence alone does not mean that a dispatcher is not running.
 *
 * @param hosts their aliases
 */
export async function lastHeard(
  context: Context,
  tip: string,
  hosts: ReadonlySet<string>,
): Promise<Map<string, string | null>> {
  const heard = new Map<string, string | null>();
  const channels = (await context.reader.channels(tip)).map(({ id }) => id);
  let left = LOOKED_AT;
  for await (const files of newestFirst(context, tip, channels, '')) {
    for (let at = 0; at < files.length && left > 0; at += CHUNK) {
      const some = files.slice(at, at + Math.min(CHUNK, left));
      left -= some.length;
      for (const { message } of await readFiles(context, some)) {
        const { host, timestamp } = message;
        if (host !== undefined && hosts.has(host) && (heard.get(host) ?? '') < timestamp)
          heard.set(host, timestamp);
      }
    }
    if (left <= 0 || heard.size === hosts.size) break;
  }
  for (const host of hosts) if (!heard.has(host)) heard.set(host, null);
  return heard;
}

/**
 * Returns every host of the transport, with the time when it was last heard of by its messages, its report or the
 * bell.
 *
 * @param here the alias of this machine
 * @param machines the other machines, by the reports of a bell
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
