import type { WebState, WebThread, WebThreadNode } from '../../api/messages.ts';
import { startedBy } from '../../protocol/automation/firing.ts';
import { readHosts } from '../../bus/host.ts';
import { isQuestion } from '../../protocol/causality.ts';
import { activation } from '../../protocol/activation.ts';
import { EVERYONE, formatAddress } from '../../protocol/address.ts';
import { subscriptionOf } from '../../protocol/automation/follow-up.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import { parseMessage, type Located, type Message } from '../../protocol/message.ts';
import { isAnswer, markOf } from '../../protocol/owed.ts';
import { treesOf, type Branch } from '../../protocol/tree.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { askedSkills } from './asked-skill.ts';
import { factsOf, type Facts } from './facts.ts';
import { failedElsewhere, openState } from './open-state.ts';
import { whomText } from './joining.ts';
import { withNaming, type Naming } from '../lookup/naming.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import type { Arrival } from '../lookup/arrivals.ts';
import { marked } from '../lookup/marked.ts';
import { queuedMessages } from '../lookup/queued.ts';
import { whyUnread } from './unread.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { type MessageRef } from '../../protocol/message-ref.ts';

export type { WebState as NodeState, WebThread as Thread, WebThreadNode as ThreadNode };

const MAX_NODES = 2000;
const EXCERPT_BYTES = 160;

/**
 * The causal tree around a message: its roots, everything that answers them or was caused by them,
 * and the state of each message that waits for an answer.
 *
 * @throws CrosstalkError `not_found` for a message that does not exist, `invalid` for a malformed
 *   one
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
    const served = await servedNames(context, tip);
    const bodies = messages.map(({ message }) => message.body);
    const skills = await askedSkills(context, tip, bodies);
    const nodeOf = async (branch: Branch): Promise<WebThreadNode> => ({
      ...describe(branch, skills),
      states: await statesOf(context, ref.channel, served, branch, messages, naming),
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

/** Gathers everything that is connected: first back to the roots, then down from them. */
async function gather(
  { reader }: Context,
  tip: string,
  ref: MessageRef,
  queued: readonly Located[],
  naming: Naming,
): Promise<{ messages: Arrival[]; complete: boolean }> {
  const { channel } = ref;
  const inOutbox = new Map(queued.map(({ relPath, message }) => [relPath, message]));
  const read = async (relPath: string): Promise<Message | undefined> =>
    (await reader.message(tip, channel, relPath)) ?? inOutbox.get(relPath);
  const found = new Map<string, Message>();
  const roots: string[] = [];
  for (let ahead = [ref.relPath]; ahead.length > 0 && found.size < MAX_NODES;) {
    const next: string[] = [];
    for (const relPath of ahead) {
      const message = found.has(relPath) ? undefined : await read(relPath);
      if (message === undefined) continue;
      found.set(relPath, message);
      const origins = [...message.re, ...message.cause];
      if (origins.length === 0) roots.push(relPath);
      next.push(...origins);
    }
    ahead = next;
  }
  const messages = new Map(found);
  const visited = new Set<string>();
  for (let ahead = roots.length > 0 ? roots : [...found.keys()]; ahead.length > 0;) {
    const next: string[] = [];
    for (const relPath of ahead) {
      if (visited.has(relPath) || messages.size >= MAX_NODES) continue;
      visited.add(relPath);
      const waiting = queued.filter(({ message: { re, cause } }) =>
        [...re, ...cause].includes(relPath),
      );
      for (const item of [...(await naming({ channel, relPath }, 're_or_cause')), ...waiting]) {
        messages.set(item.relPath, item.message);
        next.push(item.relPath);
      }
    }
    ahead = next;
  }
  return {
    messages: [...messages].map(([relPath, message]) => ({ channel, relPath, message })),
    complete: messages.size < MAX_NODES,
  };
}

/** Messages of a channel that wait in this machine's outbox, with their files. */
export async function queuedIn(
  context: Context,
  channel: string,
): Promise<(Located & { content: string })[]> {
  return (await queuedMessages(context)).flatMap(({ channel: id, relPath, content }) => {
    const parsed = id === channel ? parseMessage(Buffer.from(content)) : undefined;
    return parsed?.ok === true ? [{ relPath, message: parsed.value, content }] : [];
  });
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

/** The names that hosts run: an answer to any other name needs no further answer. */
export async function servedNames({ transport }: Context, tip: string): Promise<Set<string>> {
  const hosts = await readHosts(transport, tip);
  return new Set(hosts.flatMap(({ result }) => (result.ok ? [...result.value.actors.keys()] : [])));
}

/** The state of a message for each addressee that it wakes. */
export async function statesOf(
  context: Context,
  channel: string,
  served: ReadonlySet<string>,
  { relPath, message }: Located,
  thread: readonly Located[],
  naming: Naming,
): Promise<WebState[]> {
  const senderOf = (path: string): string | undefined =>
    thread.find((one) => one.relPath === path)?.message.from;
  const states: WebState[] = [];
  for (const { name, host } of message.to) {
    if (name === EVERYONE || (!isQuestion(message) && !served.has(name))) continue;
    if (!activation(message, name, host ?? '', senderOf).wakes) continue;
    const said = thread.filter(
      (one) => one.message.from === name && one.message.re.includes(relPath),
    );
    const answer = said.find((one) => isAnswer(one.message));
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
    const facts = await factsOf(context, { channel, relPath }, name, { wakes: true }, naming);
    const open = { actor: name, took_s: null, ...openState(facts), delay: facts.delay };
    states.push(
      open.state === 'waiting'
        ? await waiting(context, open, said, { name, host, joining: facts.joining })
        : open,
    );
  }
  return states;
}

/** The state of an addressee that has not answered: it failed on another host, or something holds it up. */
async function waiting(
  context: Context,
  open: WebState,
  said: readonly Located[],
  to: { name: string; host: string | undefined; joining: Facts['joining'] },
): Promise<WebState> {
  const failed = failedElsewhere(said, to.host);
  if (failed !== undefined || open.delay !== null) return { ...open, ...failed };
  const why =
    to.joining === null ? await whyUnread(context, to) : `it waits for ${whomText(to.joining)}`;
  return why === undefined ? open : { ...open, held_up: why };
}
