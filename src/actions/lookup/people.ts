import { hasProfile } from '../../bus/peers.ts';
import type { Index } from '../../index/index.ts';
import { namesIn, newestBy } from '../../index/nobody.ts';
import { EVERYONE, type Address, parseRecipients } from '../../protocol/address.ts';
import type { Serving } from '../../protocol/owed.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { someOf } from '../../protocol/text/words.ts';
import { hostsOf } from '../view.ts';
import { readHosts } from '../../bus/host.ts';
import type { HostFile, Tier } from '../../protocol/files/host-file.ts';
import { shown } from '../../protocol/text/result.ts';
import { personLine, unservedLine } from '../../present/holds.ts';
import { ASKER } from '../../protocol/files/tier-gate.ts';
import { loadPins } from '../../state/keys/pins.ts';
import { resolveFrom } from './resolve.ts';

/** Names that are served, with their hosts, by the host files at the newest commit known here. */
export interface Served {
  serving: Serving[];
  /** Paths of host files that cannot be read: the names that these serve are not known. */
  unreadable: string[];
}

/** Reads who serves whom. */
export async function servedBy(context: Context): Promise<Served> {
  const entries = await hostsOf(context);
  return {
    serving: entries.flatMap(({ result }) =>
      result.ok ? [{ alias: result.value.alias, actors: [...result.value.actors.keys()] }] : [],
    ),
    unreadable: entries.flatMap(({ path, result }) => (result.ok ? [] : [escapeInvisible(path)])),
  };
}

/** Milliseconds for the index: somebody waits for the result. */
const PATIENCE_MS = 2000;
/** The most names that {@link peopleHere} looks at, the newest first. */
const MOST_NAMES = 100;

/**
 * Returns the names of people, whether they have written or not: of this machine's operator, of keys that are pinned
 * here, and of those who approve plans. A run may not see the keys.
 */
export async function namedPeople(context: Context): Promise<Set<string>> {
  const { paths, transport } = context;
  const pins = await loadPins(paths.pins).catch(() => []);
  const tiers = (await hostsOf(context)).flatMap(({ result }) =>
    result.ok ? [...result.value.actors.values()].flat() : [],
  );
  const approvers = tiers.flatMap(({ gate }) => (gate === ASKER ? [] : (gate ?? [])));
  const { from } = transport.defaults;
  return new Set([
    ...(from === undefined ? [] : [from]),
    ...approvers,
    ...pins.map(({ name }) => name),
  ]);
}

/**
 * Whether a name is that of somebody whom this machine knows as a person, or its newest message was written by hand:
 * what an actor writes names its host. A name with a host, or with a profile, is never one of a person.
 *
 * @returns undefined where it has not written as far as is known, while older messages are not counted yet
 */
export async function isPerson(
  context: Context,
  tip: string,
  { name, host }: Address,
): Promise<boolean | undefined> {
  if (host !== undefined || name === EVERYONE) return false;
  if (await hasProfile(context.transport, tip, name)) return false;
  if ((await namedPeople(context)).has(name)) return true;
  return withIndex(
    context,
    { patience: PATIENCE_MS },
    async (index, complete) =>
      (await writesByHand(context, index, tip, name)) ?? (complete ? false : undefined),
  );
}

/** Returns the people among the names that were seen last. */
export async function peopleHere(context: Context, tip: string): Promise<string[]> {
  return withIndex(context, { patience: PATIENCE_MS }, async (index) => {
    const found: string[] = [];
    for (const name of namesIn(index, MOST_NAMES))
      if (
        (await writesByHand(context, index, tip, name)) === true &&
        !(await hasProfile(context.transport, tip, name))
      )
        found.push(name);
    return found;
  });
}

async function writesByHand(
  { reader }: Context,
  index: Index,
  tip: string,
  name: string,
): Promise<boolean | undefined> {
  const newest = newestBy(index, name);
  if (newest === undefined) return undefined;
  const [found] = await reader.messages(tip, newest.channel, [newest.relPath]);
  return found !== undefined && found.message.host === undefined;
}

/**
 * Returns the note about an addressee that no host serves: a person has an inbox, and for anybody else the mail
 * waits.
 */
export async function unservedOrPerson(
  context: Context,
  tip: string,
  address: Address,
  serving: readonly Serving[],
): Promise<string> {
  return (await isPerson(context, tip, address)) === true
    ? personLine(address.name)
    : unservedLine(address, serving);
}

/**
 * Returns the reason why mail is for somebody: a host serves one of its addressees, or may, or one is a person.
 *
 * @returns undefined for mail that an operator may take back
 */
export async function whoHas(
  context: Context,
  to: readonly Address[],
): Promise<string | undefined> {
  const { serving, unreadable } = await servedBy(context);
  const tip = await tipOf(context);
  for (const { name, host } of to) {
    const there = serving.find(
      ({ alias, actors }) =>
        (host ?? alias) === alias && (name === EVERYONE || actors.includes(name)),
    );
    if (there !== undefined) return `${there.alias} serves ${name}`;
    if ((await isPerson(context, tip, host === undefined ? { name } : { name, host })) !== false)
      return `${name} is a person`;
  }
  const [path] = unreadable;
  return path === undefined ? undefined : `${path} cannot be read, and may serve it`;
}

/** Facts in the host files about a message's addressees that its sender did not expect. */
interface RecipientWarnings {
  /** The addressees that no host serves, in words. */
  unserved: string[];
  /** The addressees that do not have the tier that is asked for, in words. */
  untiered: string[];
}

/**
 * Warns about addressees that no host serves, since their messages wait (cli.md), and about a tier that nobody has. A
 * message to a person needs no warning.
 *
 * @param known the findings before the message was published; a remote may know better
 * @param news asks the remote; false where it was asked already
 */
export async function noteRecipientWarnings(
  context: Context,
  message: Asked,
  known: RecipientWarnings,
  news: { ask: () => Promise<boolean> },
): Promise<void> {
  const asked = known.unserved.length > 0 && (await news.ask());
  const { unserved, untiered } = asked ? await recipientWarningsOf(context, message) : known;
  for (const line of [...unserved, ...untiered]) context.note(line);
}

interface Asked {
  addressees: readonly Address[];
  tier: string | undefined;
}

/** Looks up who serves the addressees, and in which tiers. */
export async function recipientWarningsOf(
  context: Context,
  { addressees, tier }: Asked,
): Promise<RecipientWarnings> {
  const named = addressees.filter(({ name }) => name !== EVERYONE);
  if (named.length === 0) return { unserved: [], untiered: [] };
  const tip = await tipOf(context);
  const entries = await readHosts(context.transport, tip);
  const hosts = entries.flatMap(({ result }) => (result.ok ? [result.value] : []));
  const servers = hosts.map(({ alias, actors }) => ({ alias, actors: [...actors.keys()] }));
  const found: RecipientWarnings = { unserved: [], untiered: [] };
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

/** A new schedule or subscription, as far as it states who writes to whom. */
interface Added {
  /** The addressees as given. */
  to: string | undefined;
  /** The sender, if one is named. */
  from: string | undefined;
  login: string;
}

/**
 * Returns the sender of a schedule's or a subscription's messages, who receives the answers: the given name,
 * otherwise the person who adds it.
 *
 * @returns undefined for somebody who adds a message to themselves, and would not see their own
 * @throws CrosstalkError `usage` for a sender that is not a name
 */
export function senderOfAdded(context: Context, { to, from, login }: Added): string | undefined {
  const sender = resolveFrom(context, from, login);
  const addressees = parseRecipients(to ?? '').to;
  const isToThemselves = addressees.some(({ name }) => name === sender);
  return from === undefined && isToThemselves ? undefined : sender;
}

/** Warns about addressees whom no host serves, and about a tier that they do not have, as `send` does. */
export async function noteUnserved(
  context: Context,
  { to, tier }: { to: readonly Address[]; tier?: string },
): Promise<void> {
  const { unserved, untiered } = await recipientWarningsOf(context, { addressees: to, tier });
  for (const line of [...unserved, ...untiered]) context.note(line);
}
