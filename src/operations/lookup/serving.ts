import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Address } from '../../protocol/address.ts';
import { formatAddress } from '../../protocol/address.ts';
import type { Serving } from '../../protocol/owed.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { unservedInWords } from '../../protocol/text/unserved.ts';
import type { Context } from '../context.ts';
import { hostsOf } from '../view.ts';

/** Who serves whom, by the host files at the newest commit known here. */
export interface Served {
  serving: Serving[];
  /** Paths of host files that cannot be read: what these serve is not known. */
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

/** What is to be said of an addressee that no host serves, with the name that was probably meant. */
export function unservedLine({ name, host }: Address, serving: readonly Serving[]): string {
  const address = formatAddress(host === undefined ? { name } : { name, host });
  const aliases = serving.flatMap(({ alias, actors }) => (actors.includes(name) ? [alias] : []));
  const names = serving.flatMap(({ actors }) => actors);
  return `${unservedInWords(address, aliases)}${aliases.length > 0 ? '' : didYouMean(name, names)}`;
}
