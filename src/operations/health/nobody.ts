import { basename } from 'node:path';
import { EVERYONE } from '../../protocol/address.ts';
import { MOST_COUNTED, unheardIn } from '../../index/nobody.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { relPathAt } from '../../protocol/names.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex, type IndexOptions } from '../index/indexing.ts';
import { hostsOf } from '../view.ts';

/** A name that was written to and that nobody serves. */
export interface Unserved {
  name: string;
  /** How many messages are addressed to it; a thousand stands for any number from there on. */
  messages: number;
  /** The newest of them. */
  newest: string;
  /** What the sender may have meant, as a sentence's end; empty where no name is near. */
  hint: string;
}

/** Older messages to a name are not worth a warning any more. */
const DAYS = 7;

/**
 * The names that messages of the last days are addressed to although no host serves them: actors,
 * which have a profile, and names under which nobody has ever written, so that no person reads them.
 *
 * @param counting with `patience`, nothing is said while older messages are not counted yet
 */
export async function mailForNobody(context: Context, counting: IndexOptions): Promise<Unserved[]> {
  const tip = await tipOf(context);
  const [hosts, profiles] = await Promise.all([
    hostsOf(context),
    context.transport.list(tip, ['local/actors', 'upstream/actors']),
  ]);
  const served = hosts.flatMap(({ result }) => (result.ok ? [...result.value.actors.keys()] : []));
  // What a host file that cannot be read serves is not known.
  if (hosts.some(({ result }) => !result.ok)) return [];
  const actors = profiles.map(({ path }) => basename(path, '.md'));
  const since = relPathAt(new Date(context.now().getTime() - DAYS * 86_400_000), '0'.repeat(8));
  const found = await withIndex(context, counting, (index, complete) =>
    complete
      ? unheardIn(index, {
          skip: new Set([...served, EVERYONE]),
          also: new Set(actors),
          since,
        })
      : [],
  );
  return found.map((one) => ({ ...one, hint: didYouMean(one.name, served) }));
}

/** What waits for a name that nobody serves, in words. */
export function unservedLine({ name, messages, newest, hint }: Unserved): string {
  const many = messages >= MOST_COUNTED ? `${String(MOST_COUNTED)} or more` : String(messages);
  const what =
    messages === 1 ? `${many} message, ${newest}` : `${many} messages, the newest ${newest}`;
  return `${what}; no host serves ${escapeInvisible(name)}${hint}`;
}
