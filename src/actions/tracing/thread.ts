import type { WebGate, WebState, WebThread, WebThreadNode } from '../../api/api.ts';
import { startedBy } from '../../protocol/automation/occurrences.ts';
import { readHosts } from '../../bus/host.ts';
import { isQuestion } from '../../protocol/causality.ts';
import { activation } from '../../protocol/activation.ts';
import { EVERYONE, formatAddress } from '../../protocol/address.ts';
import { subscriptionOf } from '../../protocol/automation/follow-up.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import type { Located } from '../../protocol/message.ts';
import { markOf, reactionOf, verdictOf } from '../../protocol/owed.ts';
import { treesOf, type Branch } from '../../protocol/thread.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { askedSkills } from './asked-skill.ts';
import type { Facts } from '../../present/explained.ts';
import { factsOf } from './facts.ts';
import { withNaming, type Naming } from '../lookup/naming.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { marked } from '../lookup/marked.ts';
import { gateOf } from '../state/delivery.ts';
import { cancellationsOf, forceIn } from '../lookup/taken-back.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { readLocal, type Local } from '../state/local.ts';
import { gather, queuedIn } from './gather.ts';
import { withoutSequences } from '../../protocol/text/words.ts';
import { joiningWords, noDispatcherFor } from '../../present/holds.ts';
import { lastHeardWords } from '../../present/hosts.ts';
import { atWork } from '../../present/state.ts';
import { lastHeard } from '../lookup/heard.ts';
import { otherMachines } from '../lookup/machines.ts';
import { unservedOrPerson, servedBy } from '../lookup/people.ts';

export { queuedIn };

const EXCERPT_BYTES = 160;

/**
 * Returns the causal tree around a message: its roots, everything that answers them or was caused by them, and the
 * state of each message that waits for an answer.
 *
 * @throws CrosstalkError `not_found` for a message that does not exist, `invalid` for a malformed one
 */
export async function thread(context: Context, given: string): Promise<WebThread> {
  await refreshOrNote(context);
  const ref = await resolveMessage(context, given);
  const tip = await tipOf(context);
  const queued = await queuedIn(context, ref.channel);
  return withNaming(context, tip, async (naming) => {
    const { messages: found, complete } = await gather(context, tip, ref, queued, naming);
    const waiting = new Map(queued.map(({ relPath, content }) => [relPath, content]));
    const messages = await marked(context, tip, found, ({ relPath }) => waiting.get(relPath));
    const [first] = messages;
    if (first === undefined) {
      throw new CrosstalkError(
        'invalid',
        `${shown(ref.relPath)} is malformed and belongs to no thread; see why with: crosstalk status`,
      );
    }
    const [served, local] = await Promise.all([servedNames(context, tip), readLocal(context)]);
    const heardOf = hearing(context, tip);
    const bodies = messages.map(({ message }) => message.body);
    const skills = await askedSkills(context, tip, bodies);
    const nodeOf = async (branch: Branch): Promise<WebThreadNode> => ({
      ...describe(branch, skills),
      ...(await forceOf(context, ref.channel, branch, naming)),
      states: await statesOf(
        context,
        local,
        ref.channel,
        served,
        branch,
        messages,
        naming,
        heardOf,
      ),
      children: await Promise.all(branch.children.map(nodeOf)),
    });
    const { name } = await context.reader.channel(tip, ref.channel);
    return {
      channel: ref.channel,
      channel_name: name,
      message: ref.relPath,
      complete,
      roots: await Promise.all(treesOf(messages).map(nodeOf)),
    };
  });
}

/** Returns the force of a cancellation; nothing for any other message. */
async function forceOf(
  context: Context,
  channel: string,
  { relPath, message: { cancels } }: Located,
  naming: Naming,
): Promise<Pick<WebThreadNode, 'force'>> {
  if (cancels === undefined) return {};
  const target = { channel, relPath: cancels };
  const found = await cancellationsOf(context, target, await naming(target, 're'));
  return { force: forceIn(found, relPath) ?? 'none' };
}

function describe(
  { relPath, message, verified }: Located,
  skills: ReadonlyMap<string, string | null>,
): Omit<WebThreadNode, 'states' | 'children'> {
  const given = subscriptionOf(message);
  const fired = startedBy(message);
  const name = skillAskedFor(message.body);
  return {
    relPath,
    from: message.from,
    to: message.to.map(formatAddress),
    timestamp: message.timestamp,
    re: message.re,
    cause: message.cause,
    excerpt: excerptOf(message.body, '', EXCERPT_BYTES).text,
    mark: markOf(message),
    ...(message.proposal === true && { proposal: true as const }),
    ...(message.decision !== undefined && { decision: message.decision }),
    usage: message.usage ?? null,
    ...(given && { subscription: given.subscription }),
    ...(given?.event !== undefined && { event: given.event }),
    ...(name !== undefined && { asks_for: { name, path: skills.get(name) ?? null } }),
    ...(message.branch !== undefined && { branch: message.branch }),
    ...(fired !== undefined && { fired_by: fired }),
    ...(verified !== undefined && { verified }),
  };
}

/** Returns the names that hosts run: an answer to any other name needs no further answer. */
export async function servedNames({ transport }: Context, tip: string): Promise<Set<string>> {
  const hosts = await readHosts(transport, tip);
  return new Set(hosts.flatMap(({ result }) => (result.ok ? [...result.value.actors.keys()] : [])));
}

/**
 * Returns the state of a message for each addressee that it wakes.
 *
 * @param heardOf returns when other hosts were heard of last, where that may be looked up
 */
async function statesOf(
  context: Context,
  local: Local,
  channel: string,
  served: ReadonlySet<string>,
  { relPath, message }: Located,
  thread: readonly Located[],
  naming: Naming,
  heardOf?: HeardOf,
): Promise<WebState[]> {
  const senderOf = (path: string): string | undefined =>
    thread.find((one) => one.relPath === path)?.message.from;
  const states: WebState[] = [];
  for (const { name, host } of message.to) {
    if (name === EVERYONE || (!isQuestion(message) && !served.has(name))) continue;
    if (!activation(message, name, host ?? '', senderOf).wakes) continue;
    const said = thread
      .filter((one) => one.message.from === name && one.message.re.includes(relPath))
      .map(reactionOf);
    const debtor = host === undefined ? { actor: name } : { actor: name, host };
    const { answer, notice } = verdictOf(debtor, said);
    if (answer !== undefined) {
      const took = Date.parse(answer.message.timestamp) - Date.parse(message.timestamp);
      const seconds = Math.max(0, Math.round(took / 1000));
      states.push({
        actor: name,
        state: 'answered',
        detail: answer.relPath,
        took_s: seconds,
        delay: null,
      });
      continue;
    }
    const asked = { wakes: true, tier: message.tier, asks: isQuestion(message) };
    const facts = await factsOf(context, local, { channel, relPath }, name, asked, naming);
    const found = openState(facts);
    const delay = found.state === 'cancelled' ? null : facts.delay;
    const open: WebState = {
      ...{ actor: name, took_s: null, ...found, delay },
      ...(facts.running && facts.permission !== null && { permission: facts.permission }),
      ...(facts.taken && { taken: facts.taken }),
    };
    states.push(
      open.state === 'waiting'
        ? await waiting(
            context,
            local,
            open,
            { said, thread, notice },
            { name, host, facts, heardOf },
          )
        : open,
    );
  }
  return states;
}

/** The state of a message at its addressees. */
export interface Standing {
  relPath: string;
  states: WebState[];
}

/**
 * Returns the state of some messages at their addressees, as far as this machine knows. Neither the remote nor the
 * index is asked: answers are looked for among the given messages.
 *
 * @param channel id of their channel
 * @param known messages of the channel: those in question, and possible answers
 * @param wanted relPaths of those in question
 * @param heardOf as for a thread
 */
export async function standings(
  context: Context,
  channel: string,
  known: readonly Located[],
  wanted: ReadonlySet<string>,
  heardOf?: HeardOf,
): Promise<Standing[]> {
  const naming: Naming = ({ relPath }, where) =>
    Promise.resolve(
      known.filter(({ message: { re, cause } }) =>
        (where === 're_or_cause' ? [...re, ...cause] : re).includes(relPath),
      ),
    );
  const [served, local] = await Promise.all([
    servedNames(context, await tipOf(context)),
    readLocal(context),
  ]);
  return Promise.all(
    known
      .filter(({ relPath }) => wanted.has(relPath))
      .map(async (one) => ({
        relPath: one.relPath,
        states: await statesOf(context, local, channel, served, one, known, naming, heardOf),
      })),
  );
}

/** Returns the state of an addressee that has not answered: it failed on another host, or something holds it up. */
async function waiting(
  context: Context,
  local: Local,
  open: WebState,
  {
    said,
    thread,
    notice,
  }: { said: readonly Located[]; thread: readonly Located[]; notice: Located | undefined },
  to: {
    name: string;
    host: string | undefined;
    facts: Pick<Facts, 'joining' | 'gated'>;
    heardOf: HeardOf | undefined;
  },
): Promise<WebState> {
  const { joining, gated } = to.facts;
  const failed = failedElsewhere(notice);
  if (failed !== undefined || open.delay !== null) return { ...open, ...failed };
  const gate = gated === null ? gateIn(said, thread) : gateOf(gated);
  if (gate !== undefined) return { ...open, gate };
  if (joining !== null) return { ...open, held_up: `it ${joiningWords(joining)}` };
  if (open.taken !== undefined) return open;
  return { ...open, ...(await whyUnread(context, local, to, to.heardOf)) };
}

/**
 * Returns the gate at which another host holds it, by its newest plan, unless somebody whom the plan names has
 * decided on it.
 */
function gateIn(said: readonly Located[], thread: readonly Located[]): WebGate | undefined {
  const plan = said.findLast(({ message }) => message.proposal && !message.permission);
  const [approver] = plan?.message.to ?? [];
  if (plan === undefined || approver === undefined) return undefined;
  const isDecided = thread.some(
    ({ message: { from, re, decision } }) =>
      decision !== undefined && from === approver.name && re.includes(plan.relPath),
  );
  return isDecided
    ? undefined
    : { approver: approver.name, proposal: plan.relPath, approved: false };
}

/** Returns the failure on another host, by the notice of that host's dispatcher. */
function failedElsewhere(
  notice: Located | undefined,
): Pick<WebState, 'state' | 'detail' | 'failed_on' | 'delay'> | undefined {
  const { failed, timestamp, body } = notice?.message ?? {};
  if (failed === undefined || timestamp === undefined) return undefined;
  const { reason, attempts } = failed;
  const [line = ''] = (body ?? '').trim().split('\n');
  return {
    state: 'failed',
    detail: failed.dead_letter,
    failed_on: failed.host,
    delay: {
      since: timestamp,
      until: null,
      reason,
      said: withoutSequences(line),
      attempts,
      attempts_allowed: null,
    },
  };
}

/** Returns the state of an addressee that has not answered, by this machine's knowledge. */
function openState(facts: Facts): Pick<WebState, 'state' | 'detail'> {
  const { dead_letter: letter } = facts;
  if (facts.running) return { state: 'running', detail: facts.seen_by[0] ?? null };
  const cancelled =
    facts.cancelled_in[0] ?? (letter?.state === 'cancelled' ? letter.id : undefined);
  if (cancelled !== undefined) return { state: 'cancelled', detail: cancelled };
  if (facts.queued_here && !facts.on_the_bus) return { state: 'queued', detail: null };
  if (letter !== null)
    return { state: letter.state === 'parked' ? 'parked' : 'failed', detail: letter.id };
  // The actor reacted with a message that answers somebody else.
  const reaction = facts.answered_by[0] ?? facts.delegated_in[0];
  if (reaction !== undefined) return { state: 'answered', detail: reaction };
  if (facts.parked !== null)
    return { state: 'waiting', detail: `${facts.parked.reason} until ${facts.parked.until}` };
  return { state: facts.silent ? 'silent' : 'waiting', detail: null };
}

/** When hosts were heard of last, by their aliases; see {@link lastHeard}. */
type HeardOf = (hosts: ReadonlySet<string>) => ReturnType<typeof lastHeard>;

/** Makes a look-up of when hosts were heard of last, each looked up once. */
export function hearing(context: Context, tip: string): HeardOf {
  const known = new Map<string, string | null>();
  return async (hosts) => {
    const unknown = new Set([...hosts].filter((host) => !known.has(host)));
    if (unknown.size > 0)
      for (const [host, at] of await lastHeard(context, tip, unknown)) known.set(host, at);
    return known;
  };
}

/**
 * Returns the facts about mail for an actor that nobody has answered yet. `held_up`: the reason why nobody reads it
 * at the moment, in one line: it is for a person, no host serves it, or this machine alone does and no dispatcher
 * runs here. `heard`: of other hosts that serve it, their activity by the bell, else when they were heard of last.
 *
 * @param heardOf not given where that look would cost too much
 */
async function whyUnread(
  context: Context,
  local: Local,
  { name, host }: { name: string; host: string | undefined },
  heardOf?: HeardOf,
): Promise<Pick<WebState, 'held_up' | 'heard'>> {
  const { serving, unreadable } = await servedBy(context);
  const aliases = serving.flatMap(({ alias, actors }) =>
    actors.includes(name) && (host === undefined || host === alias) ? [alias] : [],
  );
  if (aliases.length === 0) {
    if (unreadable.length > 0) return {};
    const address = host === undefined ? { name } : { name, host };
    return { held_up: await unservedOrPerson(context, await tipOf(context), address, serving) };
  }
  if (context.agentMode !== undefined) return {};
  const others = aliases.filter((alias) => alias !== local.alias).slice(0, MOST_HOSTS);
  if (others.length > 0) {
    if (heardOf === undefined) return {};
    return { heard: await heardFrom(context, local, name, others, heardOf) };
  }
  return local.runs ? {} : { held_up: noDispatcherFor(local.alias ?? '') };
}

/** The most hosts of which the last sign of life is shown. */
const MOST_HOSTS = 3;

async function heardFrom(
  context: Context,
  { lastSaid }: Local,
  actor: string,
  hosts: readonly string[],
  heardOf: HeardOf,
): Promise<string> {
  const now = context.now();
  const live = otherMachines(lastSaid, hosts, now) ?? [];
  const busy = live.find(({ running }) => running.includes(actor));
  if (busy !== undefined) return atWork(actor, busy.alias);
  const heard = await heardOf(new Set(hosts));
  return hosts.map((alias) => lastHeardWords(alias, heard.get(alias) ?? null, now)).join(', ');
}
