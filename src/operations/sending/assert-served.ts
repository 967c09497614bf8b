import { isServed } from '../../bus/peers.ts';
import { CrosstalkError } from '../../errors.ts';
import { formatAddress, type Address } from '../../protocol/address.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { someOf } from '../../protocol/text/unserved.ts';
import { tipOf, type Context } from '../context.ts';
import { isPerson } from '../lookup/people.ts';
import { servedBy } from '../lookup/serving.ts';
import type { RemoteNews } from './remote-news.ts';

/**
 * Refuses what goes to a name under which nobody answers: no host serves it, and it is no person, who has
 * written before. A run, or a person at a terminal, would wait for it in vain, and so would whoever asked.
 *
 * @param anyway it goes there all the same
 * @returns whether somebody can answer
 * @throws CrosstalkError `not_found`, with the name that was probably meant; `usage` for a message that goes anyway to
 *   some, and that others can answer
 */
export async function assertServed(
  context: Context,
  addressees: readonly Address[],
  news: RemoteNews,
  anyway: boolean,
): Promise<boolean> {
  const find = async (): Promise<Address[]> => {
    const tip = await tipOf(context);
    const found: Address[] = [];
    for (const address of addressees)
      if (
        !(await isServed(context.transport, tip, address)) &&
        (await isPerson(context, tip, address)) === false
      )
        found.push(address);
    return found;
  };
  let odd = await find();
  if (odd.length > 0 && (await news.ask())) odd = await find();
  const [first] = odd;
  if (first === undefined) return true;
  if (!anyway) throw await refusal(context, first);
  if (odd.length === addressees.length) return false;
  const apart = escapeInvisible(formatAddress(first));
  throw new CrosstalkError(
    'usage',
    `--anyway is for ${apart}, which nobody serves, and not for the others of --to; nothing was sent. Send to ${apart} in a message of its own`,
  );
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
