import type { WebState } from '../../api/messages.ts';
import { noDispatcher } from '../../protocol/text/dispatcher.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { holderOf } from '../../state/lock.ts';
import { tipOf, type Context } from '../context.ts';
import { ago, lastHeard } from '../lookup/heard.ts';
import { otherMachines } from '../lookup/machines.ts';
import { unservedOrPerson } from '../lookup/people.ts';
import { servedBy } from '../lookup/serving.ts';
import { findServed } from '../setup/hosts.ts';

/** When hosts were heard of last, by their aliases; see {@link lastHeard}. */
export type HeardOf = (hosts: ReadonlySet<string>) => ReturnType<typeof lastHeard>;

/** A look at when hosts were heard of last, each looked for once. */
export function hearing(context: Context, tip: string): HeardOf {
  const known = new Map<string, string | null>();
  return async (hosts) => {
    const unknown = new Set([...hosts].filter((host) => !known.has(host)));
    if (unknown.size > 0)
      for (const [host, at] of await lastHeard(context, tip, unknown)) known.set(host, at);
    return known;
  };
}

/**
 * What is known about mail for an actor that nobody has answered yet. `held_up`: why nobody reads it at the
 * moment, in one line: it is for a person, no host serves it, or this machine alone does and no dispatcher runs
 * here. `heard`: of other hosts that serve it, what they do by the bell, else when they were heard of last.
 *
 * @param heardOf not given where that look would cost too much
 */
export async function whyUnread(
  context: Context,
  { name, host }: { name: string; host: string | undefined },
  heardOf?: HeardOf,
): Promise<Pick<WebState, 'held_up' | 'heard'>> {
  const { serving, unreadable } = await servedBy(context);
  const aliases = serving.flatMap(({ alias, actors }) =>
    actors.includes(name) && (host === undefined || host === alias) ? [alias] : [],
  );
  if (aliases.length === 0) {
    if (unreadable.length > 0) return {};
    const address = host === undefined ? { name } : { name, host };
    return { held_up: await unservedOrPerson(context, await tipOf(context), address, serving) };
  }
  if (context.agentMode !== undefined) return {};
  const { found } = await findServed(context, undefined);
  const here = found.kind === 'found' ? found.file.alias : undefined;
  const others = aliases.filter((alias) => alias !== here).slice(0, MOST_HOSTS);
  if (others.length > 0)
    return heardOf === undefined ? {} : { heard: await heardFrom(context, name, others, heardOf) };
  if ((await holderOf(context.paths.root, 'dispatcher')) !== undefined) return {};
  return { held_up: noDispatcher(here ?? '') };
}

/** The most hosts of which it is said when they were heard of. */
const MOST_HOSTS = 3;

async function heardFrom(
  context: Context,
  actor: string,
  hosts: readonly string[],
  heardOf: HeardOf,
): Promise<string> {
  const now = context.now();
  const live = otherMachines(await loadHeartbeat(context.paths.heartbeat), hosts, now) ?? [];
  const busy = live.find(({ running }) => running.includes(actor));
  if (busy !== undefined) return `${actor} is at work on ${busy.alias}`;
  const heard = await heardOf(new Set(hosts));
  return hosts
    .map((alias) => {
      const at = heard.get(alias) ?? null;
      return at === null
        ? `nothing heard from ${alias} lately`
        : `last heard from ${alias} ${ago(at, now)} ago`;
    })
    .join(', ');
}
