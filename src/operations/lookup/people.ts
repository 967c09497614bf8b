import { hasProfile } from '../../bus/peers.ts';
import type { Index } from '../../index/index.ts';
import { namesIn, newestBy } from '../../index/nobody.ts';
import { EVERYONE, type Address } from '../../protocol/address.ts';
import type { Serving } from '../../protocol/owed.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import { servedBy, unservedLine } from './serving.ts';

/** Milliseconds for the index: somebody waits for what is said by it. */
const PATIENCE_MS = 2000;
/** The most names that {@link peopleHere} looks at, the newest first. */
const MOST_NAMES = 100;

/**
 * Whether a name is the one under which this machine's operator writes, or its newest message was written by hand: what
 * an actor writes names its host. A name with a host, or with a profile, is never one of a person.
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
  if (name === context.transport.defaults.from) return true;
  return withIndex(
    context,
    { patience: PATIENCE_MS },
    async (index, complete) =>
      (await writesByHand(context, index, tip, name)) ?? (complete ? false : undefined),
  );
}

/** The people among the names that were seen last. */
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

/** What is to be said of an addressee that no host serves: a person has an inbox, and for anybody else the mail waits. */
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

/** How a person comes by their mail. */
export function personLine(name: string): string {
  return `${escapeInvisible(name)} is a person, and finds it with: crosstalk inbox`;
}

/**
 * Why mail is not for nobody: a host serves one of its addressees, or may, or one is a person.
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
