import { CrosstalkError } from '../../errors.ts';
import { newestBy } from '../../index/nobody.ts';
import { EVERYONE, formatAddress, type Address } from '../../protocol/address.ts';
import { isAmong, partiesByName, type CanAnswer } from '../../protocol/pending.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { someOf } from '../../protocol/text/unserved.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import { servedBy } from '../lookup/serving.ts';
import type { RemoteNews } from './remote-news.ts';

/** Milliseconds for the index, in the middle of a run. */
const PATIENCE_MS = 2000;

/**
 * Who can answer what is sent to these addresses, at the newest commit known here: actors that a host serves, and
 * people, who have written before. Where a host file cannot be read, nobody knows who is not served, and so everybody
 * is taken to be.
 */
export async function answering(context: Context, asked: readonly Address[]): Promise<CanAnswer> {
  const { serving, unreadable } = await servedBy(context);
  if (unreadable.length > 0) return () => true;
  const served = partiesByName(
    serving.flatMap(({ alias, actors }) => actors.map((name) => ({ name, host: alias }))),
  );
  const isServed = (address: Address): boolean =>
    address.name === EVERYONE || isAmong(served, address);
  const people = new Set<string>();
  for (const { name } of asked.filter((address) => !isServed(address)))
    if (await isPerson(context, name)) people.add(name);
  return (address) => isServed(address) || (address.host === undefined && people.has(address.name));
}

/** Whether the newest message under a name was written by hand: what an actor writes names its host. */
async function isPerson(context: Context, name: string): Promise<boolean> {
  const newest = await withIndex(context, { patience: PATIENCE_MS }, (index) =>
    newestBy(index, name),
  );
  if (newest === undefined) return false;
  const { channel, relPath } = newest;
  const [found] = await context.reader.messages(await tipOf(context), channel, [relPath]);
  return found !== undefined && found.message.host === undefined;
}

/**
 * Refuses what a run sends to a name under which nobody answers: whoever runs would wait for it in vain, and so
 * would whoever asked.
 *
 * @throws CrosstalkError `not_found`, with the name that was probably meant
 */
export async function assertServed(
  context: Context,
  addressees: readonly Address[],
  news: RemoteNews,
): Promise<void> {
  const find = async (): Promise<Address | undefined> => {
    const canAnswer = await answering(context, addressees);
    return addressees.find((address) => !canAnswer(address));
  };
  let odd = await find();
  if (odd !== undefined && (await news.ask())) odd = await find();
  if (odd !== undefined) throw await refusal(context, odd);
}

async function refusal(context: Context, address: Address): Promise<CrosstalkError> {
  const { serving } = await servedBy(context);
  const names = [...new Set(serving.flatMap(({ actors }) => actors))].sort();
  const at = serving.flatMap(({ alias, actors }) => (actors.includes(address.name) ? [alias] : []));
  const where = at.length > 0 ? ` (${address.name} is served by ${someOf(at)})` : '';
  const meant = at.length > 0 ? '' : didYouMean(address.name, names);
  const others = names.length === 0 ? '' : ` to one of ${escapeInvisible(someOf(names))},`;
  return new CrosstalkError(
    'not_found',
    `no host serves ${escapeInvisible(formatAddress(address))}${where}${meant}; nothing was sent. Send it${others} or with --anyway, to wait until a host serves that name`,
  );
}
