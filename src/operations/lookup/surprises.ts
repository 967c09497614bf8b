import { readHosts } from '../../bus/host.ts';
import { EVERYONE, type Address } from '../../protocol/address.ts';
import type { HostFile, Tier } from '../../protocol/files/host-file.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { someOf } from '../../protocol/text/unserved.ts';
import { tipOf, type Context } from '../context.ts';
import { isPerson } from './people.ts';
import { unservedLine } from './serving.ts';

/** What the host files say of a message's addressees that its sender did not expect. */
export interface Surprises {
  /** The addressees that no host serves, in words. */
  unserved: string[];
  /** The addressees that do not have the tier that is asked for, in words. */
  untiered: string[];
}

/**
 * Warns about addressees that no host serves, since their messages wait (cli.md), and about a tier
 * that nobody has. What goes to a person needs no warning.
 *
 * @param known what was found before the message was published; a remote may know better
 * @param news asks the remote; false where it was asked already
 */
export async function noteSurprises(
  context: Context,
  message: Asked,
  known: Surprises,
  news: { ask: () => Promise<boolean> },
): Promise<void> {
  const asked = known.unserved.length > 0 && (await news.ask());
  const { unserved, untiered } = asked ? await surprisesOf(context, message) : known;
  for (const line of [...unserved, ...untiered]) context.note(line);
}

interface Asked {
  addressees: readonly Address[];
  tier: string | undefined;
}

/** Looks up who serves the addressees, and in which tiers. */
export async function surprisesOf(
  context: Context,
  { addressees, tier }: Asked,
): Promise<Surprises> {
  const named = addressees.filter(({ name }) => name !== EVERYONE);
  if (named.length === 0) return { unserved: [], untiered: [] };
  const tip = await tipOf(context);
  const entries = await readHosts(context.transport, tip);
  const hosts = entries.flatMap(({ result }) => (result.ok ? [result.value] : []));
  const servers = hosts.map(({ alias, actors }) => ({ alias, actors: [...actors.keys()] }));
  const found: Surprises = { unserved: [], untiered: [] };
  for (const address of named) {
    const { name, host } = address;
    const serving = hosts.filter(({ actors }) => actors.has(name));
    const there = serving.filter(({ alias }) => host === undefined || alias === host);
    if (there.length === 0) {
      if ((await isPerson(context, tip, address)) !== true)
        found.unserved.push(unservedLine(address, servers));
    } else if (tier !== undefined) found.untiered.push(...untieredLine(name, tier, there));
  }
  return found;
}

function untieredLine(name: string, wanted: string, serving: readonly HostFile[]): string[] {
  const tiers = serving.map(({ actors }): readonly Tier[] => actors.get(name) ?? []);
  const names = [...new Set(tiers.flat().map((tier) => tier.name))];
  if (names.includes(wanted)) return [];
  const instead = [...new Set(tiers.flatMap(([first]) => (first === undefined ? [] : first.name)))];
  return [
    `${name} has no tier ${shown(wanted)}, only ${someOf(names)}, so ${someOf(instead)} takes the message${didYouMean(wanted, names)}`,
  ];
}
