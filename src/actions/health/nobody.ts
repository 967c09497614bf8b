import { hasProfile } from '../../bus/peers.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { addressedIn, type Addressed } from '../../index/nobody.ts';
import type { WebUnserved } from '../../api/api.ts';
import { nobodysMail } from '../../present/findings.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { relPathAt } from '../../protocol/layout.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { tipOf, type Context } from '../context.ts';
import { namedPeople } from '../lookup/people.ts';
import { withIndex, type IndexOptions } from '../index/indexing.ts';
import { hostsOf } from '../view.ts';
import { act, type Finding } from '../../present/finding.ts';

/** Older messages to a name are not worth a warning any more. */
const DAYS = 7;

/**
 * Returns the names that messages of the last days are addressed to although no host serves them: actors, which have
 * a profile, and names under which nobody has ever written, so that no person reads them. Anybody who writes on this
 * machine is a person.
 *
 * @param counting with `patience`, nothing is reported while older messages are not counted yet
 */
export async function mailForNobody(
  context: Context,
  counting: IndexOptions,
): Promise<WebUnserved[]> {
  const hosts = await hostsOf(context);
  const served = hosts.flatMap(({ result }) => (result.ok ? [...result.value.actors.keys()] : []));
  // The names that an unreadable host file serves are not known.
  if (hosts.some(({ result }) => !result.ok)) return [];
  const since = pathAt(new Date(context.now().getTime() - DAYS * 86_400_000));
  const skip = new Set([...served, EVERYONE]);
  const people = await namedPeople(context);
  const addressed = await withIndex(context, counting, (index, complete) =>
    complete ? addressedIn(index, { skip, since }) : [],
  );
  const tip = await tipOf(context);
  const found: Addressed[] = [];
  for (const one of addressed)
    if (
      (!one.writes && !people.has(one.name)) ||
      (await hasProfile(context.transport, tip, one.name))
    )
      found.push(one);
  return found.map(({ name, messages, newest, oldest }) => ({
    name,
    messages,
    newest,
    oldest,
    hint: didYouMean(name, served),
  }));
}

/** Milliseconds that mail for a name that nobody serves may wait before the verdict reports it. */
const PATIENCE_MS = 3_600_000;
/** The most names that are problems of their own. */
const NAMED = 5;

/** Returns the findings on mail that nobody serves and that has waited for an hour. */
export function unservedProblems(unserved: readonly WebUnserved[], now: Date): Finding[] {
  const limit = pathAt(new Date(now.getTime() - PATIENCE_MS));
  const old = unserved.filter(({ oldest }) => oldest < limit);
  const more = old.length - NAMED;
  return [
    ...old
      .slice(0, NAMED)
      .map((one) =>
        act(
          `mail waits for an hour and longer: ${nobodysMail(one)}; send it to the right name, or serve this one with: crosstalk actor add ${escapeInvisible(one.name)}, or take it back with: crosstalk cancel ${one.newest} --as-operator`,
        ),
      ),
    ...(more > 0
      ? [act(`and ${String(more)} more names that nobody serves`, 'crosstalk status --json')]
      : []),
  ];
}

function pathAt(at: Date): string {
  return relPathAt(at, '0'.repeat(8));
}
