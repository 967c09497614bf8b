import { readHosts } from '../../bus/host.ts';
import { EVERYONE, formatAddress, type Address } from '../../protocol/address.ts';
import { unservedInWords } from '../../protocol/text/unserved.ts';
import { tipOf, type Context } from '../context.ts';
import type { RemoteNews } from './remote-news.ts';

/**
 * Warns about addressees that no host serves, since their messages wait (cli.md). Answers may go to
 * people and need no warning.
 */
export async function noteUnserved(
  context: Context,
  addressees: readonly Address[],
  known: readonly Unserved[],
  news: RemoteNews,
): Promise<void> {
  const asked = known.length > 0 && (await news.ask());
  for (const { name, host, serving } of asked ? await withoutHost(context, addressees) : known) {
    const address = formatAddress(host === undefined ? { name } : { name, host });
    context.note(unservedInWords(address, serving));
  }
}

export interface Unserved extends Address {
  /** Aliases of other hosts that serve the name. */
  serving: string[];
}

/** Selects the addressees that no host serves, with the hosts that serve the name elsewhere. */
export async function withoutHost(
  context: Context,
  addressees: readonly Address[],
): Promise<Unserved[]> {
  const named = addressees.filter(({ name }) => name !== EVERYONE);
  if (named.length === 0) return [];
  const hosts = await readHosts(context.transport, await tipOf(context));
  const served = hosts.flatMap(({ result }) => (result.ok ? [result.value] : []));
  return named.flatMap((address) => {
    const { name, host } = address;
    const serving = served.filter(({ actors }) => actors.has(name)).map(({ alias }) => alias);
    const there = host === undefined ? serving.length > 0 : serving.includes(host);
    return there ? [] : [{ ...address, serving }];
  });
}
