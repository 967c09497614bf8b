import { activation, explainClause, type Clause } from '../../protocol/activation.ts';
import { parseAddress, type Address } from '../../protocol/address.ts';
import { startedBy } from '../../protocol/automation/firing.ts';
import type { StartedBy } from '../../protocol/text/fired-text.ts';
import { subscriptionOf, type GivenBy } from '../../protocol/automation/follow-up.ts';
import { openQuestions, originsOf } from '../../protocol/causality.ts';
import { CrosstalkError } from '../../errors.ts';
import { askedSkill, type AskedSkill } from './asked-skill.ts';
import { factsOf, type Facts } from './facts.ts';
import { sessionAbout, type SessionAbout } from './session-about.ts';
import { steeringAbout, type SteeringAbout } from './steering-about.ts';
import { withNaming } from '../lookup/naming.ts';
import { isPerson } from '../lookup/people.ts';
import { servedBy } from '../lookup/serving.ts';
import { queuedMessage } from '../lookup/queued.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { resolveMessage } from '../lookup/resolve.ts';

/** Whether and why a message wakes an actor (protocol.md §3). */
export interface Explanation {
  channel: string;
  message: string;
  actor: string;
  host: string | null;
  wakes: boolean;
  /** Only for a person, whom nothing runs for. */
  person?: true;
  clause: Clause;
  because: string;
  /** The entries of `re` that were decisive. */
  answered: string[];
  /** Whom the actor's stdout would answer, and which question. */
  open_questions: { message: string; asker: string }[];
  facts: Facts;
  /** The schedule that has sent it, as the message says; absent for any other message. */
  fired_by?: StartedBy;
  /**
   * The subscription that has given it, as the message says, and the answers because of which; absent for any
   * other message.
   */
  given_by?: GivenBy & { cause: string[] };
  /** The skill for which it asks, as it is now; absent for any other message. */
  asks_for?: AskedSkill;
  /** The sessions in which it was handled or will be; absent where its tier keeps none. */
  session?: SessionAbout;
  /** What became of a message that is for work under way; absent for any other. */
  steering?: SteeringAbout;
}

/** @param actor `name`, or `name@host` to ask about one host */
export async function explain(
  context: Context,
  message: string,
  actor: string,
): Promise<Explanation> {
  const address = parseAddress(actor);
  if (!address.ok)
    throw new CrosstalkError('usage', `${address.problems.join('; ')}; name an actor`);
  await refreshOrNote(context);
  const ref = await resolveMessage(context, message);
  const tip = await tipOf(context);
  const found =
    (await context.reader.message(tip, ref.channel, ref.relPath)) ??
    (await queuedMessage(context, ref));
  if (found === undefined)
    throw new CrosstalkError(
      'invalid',
      `${ref.relPath} is malformed and wakes nobody; see why with: crosstalk status`,
    );
  const delivered = { relPath: ref.relPath, message: found };
  const lookup = await context.reader.chain(tip, ref.channel, [delivered]);
  const { name, host } = address.value;
  const narrowed = found.to.find((to) => to.name === name && to.host !== undefined);
  const result = activation(
    found,
    name,
    host ?? narrowed?.host ?? '',
    (relPath) => lookup(relPath)?.from,
  );
  const started = startedBy(found);
  const given = subscriptionOf(found);
  const { facts, session } = await withNaming(context, tip, async (naming) => ({
    facts: await factsOf(context, ref, name, result, naming),
    session: await sessionAbout(context, { ...ref, message: found }, name, lookup, naming),
  }));
  const located = { ...ref, message: found };
  const steering = await steeringAbout(context, tip, located, name, facts.answered_by);
  const asked = await askedSkill(context, name, found);
  return {
    channel: ref.channel,
    message: ref.relPath,
    actor: name,
    host: host ?? null,
    wakes: result.wakes,
    ...((await isOnlyPerson(context, tip, address.value)) && { person: true as const }),
    clause: result.clause,
    because: explainClause(result.clause, name),
    answered: result.answered,
    facts,
    open_questions: result.wakes
      ? openQuestions(delivered, name, lookup).map(({ relPath, asker }) => ({
          message: relPath,
          asker,
        }))
      : [],
    ...(session && { session }),
    ...(steering && { steering }),
    ...(started && { fired_by: started }),
    ...(given && {
      given_by: { ...given, cause: [...originsOf(found), ...(found.origin ?? [])] },
    }),
    ...(asked && { asks_for: asked }),
  };
}

/** Whether no host serves a name, and a person writes under it. */
async function isOnlyPerson(context: Context, tip: string, address: Address): Promise<boolean> {
  const { serving } = await servedBy(context);
  if (serving.some(({ actors }) => actors.includes(address.name))) return false;
  return (await isPerson(context, tip, address)) === true;
}
