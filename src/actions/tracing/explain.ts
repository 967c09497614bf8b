import type { WebClaim } from '../../api/api.ts';
import { activation, explainClause, type Clause } from '../../protocol/activation.ts';
import { parseAddress, type Address } from '../../protocol/address.ts';
import { startedBy } from '../../protocol/automation/occurrences.ts';
import type { StartedBy } from '../../protocol/text/words.ts';
import { subscriptionOf, type GivenBy } from '../../protocol/automation/follow-up.ts';
import { isQuestion, openQuestions, originsOf, type Lookup } from '../../protocol/causality.ts';
import { CrosstalkError } from '../../errors.ts';
import { askedSkill, type AskedSkill } from './asked-skill.ts';
import type { Facts, SessionAbout, SteeringAbout } from '../../present/explained.ts';
import { factsOf } from './facts.ts';
import { withNaming, type Naming } from '../lookup/naming.ts';
import { isPerson, servedBy } from '../lookup/people.ts';
import { shownClaims } from '../lookup/taken.ts';
import { queuedMessage } from '../lookup/queued.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { readLocal } from '../state/local.ts';
import { sessionIn } from '../../protocol/files/tier-options.ts';
import type { Located } from '../../protocol/message.ts';
import { type MessageRef, placeOfRef } from '../../protocol/layout.ts';
import { threadRoot } from '../../protocol/thread.ts';
import { AgentSessions, KeptProcesses } from '../../state/sessions/agent-sessions.ts';
import type { Steered } from '../../protocol/talk.ts';
import { whyNotSteering } from '../../protocol/steer.ts';

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
  /** Askers whom the actor's stdout would answer, and their questions. */
  open_questions: { message: string; asker: string }[];
  facts: Facts;
  /** The schedule that has sent it, as the message states; absent for any other message. */
  fired_by?: StartedBy;
  /**
   * The subscription that produced it, as the message states, and the answers because of which; absent for any other
   * message.
   */
  given_by?: GivenBy & { cause: string[] };
  /** The skill for which it asks, as it is now; absent for any other message. */
  asks_for?: AskedSkill;
  /** The sessions in which it was handled or will be; absent where its tier keeps none. */
  session?: SessionAbout;
  /** Outcome of a message for work under way; absent for any other. */
  steering?: SteeringAbout;
  /** The claims of hosts on it, whether they count or not; absent where there are none. */
  claims?: WebClaim[];
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
  const local = await readLocal(context);
  const asking = { wakes: result.wakes, tier: found.tier, asks: isQuestion(found) };
  const { facts, session } = await withNaming(context, tip, async (naming) => ({
    facts: await factsOf(context, local, ref, name, asking, naming),
    session: await sessionAbout(context, { ...ref, message: found }, name, lookup, naming),
  }));
  const located = { ...ref, message: found };
  const steering = await steeringAbout(context, tip, located, name, facts.answered_by);
  const asked = await askedSkill(context, name, found);
  const { serving } = await servedBy(context);
  const claims = await shownClaims(context.transport, tip, { ...ref, actor: name }, serving);
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
    ...(claims.length > 0 && { claims }),
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

/** @returns undefined where neither is known, as in a tier that keeps no sessions */
async function sessionAbout(
  context: Context,
  { channel, relPath, message }: MessageRef & Located,
  actor: string,
  lookup: Lookup,
  naming: Naming,
): Promise<SessionAbout | undefined> {
  const root = placeOfRef(channel, threadRoot([{ relPath, message }], lookup));
  const owner = { actor, channel: root.channel, root: root.relPath };
  // A run may not look into the state of its machine.
  const processes = await new KeptProcesses(context.paths.root).alive().catch(() => []);
  const warm = processes.find(
    (one) => one.actor === owner.actor && one.channel === owner.channel && one.root === owner.root,
  );
  const kept =
    warm ?? (await new AgentSessions(context.paths.root).of(owner).catch(() => undefined));
  const answers = (await naming({ channel, relPath }, 're')).filter(
    (one) => one.message.from === actor,
  );
  const kinds = answers.flatMap(({ message: { extra } }) => sessionIn(extra['session']) ?? []);
  const [run] = kinds;
  if (run === undefined && kept === undefined) return undefined;
  return {
    ...(run && { run }),
    ...(kept && {
      next: {
        ...{ agent: kept.agent, tier: kept.tier, turns: kept.turns, used: kept.used },
        ...(warm && { kept: true as const }),
      },
    }),
  };
}

/**
 * Determines its outcome, by the answers and by the runs of this machine.
 *
 * @param answers the relPaths of the answers to it
 * @returns undefined for a message that does not state that it is one
 */
async function steeringAbout(
  { reader, runs }: Context,
  tip: string,
  { channel, relPath, message }: MessageRef & Located,
  actor: string,
  answers: readonly string[],
): Promise<SteeringAbout | undefined> {
  const { steers } = message;
  if (steers === undefined) return undefined;
  const target = await reader.message(tip, channel, steers);
  const why = whyNotSteering(message, target, actor);
  if (why !== undefined) return { steers, became: 'ordinary', why };
  const told = (all: readonly Steered[] = []): Steered | undefined =>
    all.find((one) => one.message === relPath);
  const read = await reader.messages(tip, channel, answers);
  const own = read.filter((one) => one.message.from === actor);
  for (const { relPath: answer, message: said } of own) {
    const found = told(said.steered);
    if (found !== undefined) return { steers, became: found.how, run: found.run, answer };
  }
  const [first] = own;
  if (first !== undefined) {
    const became = first.message.re.includes(steers) ? 'together' : 'own';
    return { steers, became, answer: first.relPath };
  }
  const under = (await runs.leftovers()).filter(
    (run) => run.actor === actor && run.channel === channel && run.messages.includes(relPath),
  );
  for (const { id, steered, messages } of under) {
    const found = told(steered);
    if (found !== undefined) return { steers, became: found.how, run: id };
    return { steers, became: messages.includes(steers) ? 'together' : 'own', run: id };
  }
  return { steers, became: 'open' };
}
