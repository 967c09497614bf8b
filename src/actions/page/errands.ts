import { messageKey } from '../../protocol/layout.ts';
import { activation } from '../../protocol/activation.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { isQuestion } from '../../protocol/causality.ts';
import { showsReading, verdictOf, type Verdict } from '../../protocol/owed.ts';
import type { WebGate } from '../../api/api.ts';
import type { Trace } from './recent.ts';

/** A message that wakes an actor, and the verdict on it: what names it in `re` or `cause` is a reaction to it. */
export interface Errand extends Verdict<Trace> {
  message: Trace;
  /** The addressee. */
  actor: string;
  /** The plan that its actor has proposed for it and on which the approver has not decided, if there is one. */
  gate?: WebGate;
}

/**
 * Determines which messages woke an actor and which ones answered them, from the messages alone (protocol.md §3).
 * Messages older than the first one given are not known here, and neither is an actor's silence.
 *
 * @param traces in the order of time, the oldest first
 * @param served the names that hosts run
 */
export function errandsOf(traces: readonly Trace[], served: ReadonlySet<string>): Errand[] {
  const senders = new Map(traces.map((trace) => [messageKey(trace), trace.from]));
  const reactions = new Map<string, Trace[]>();
  for (const trace of traces)
    for (const relPath of new Set([...trace.re, ...trace.cause])) {
      const key = messageKey({ channel: trace.channel, relPath });
      const known = reactions.get(key);
      if (known === undefined) reactions.set(key, [trace]);
      else known.push(trace);
    }
  return traces.flatMap((message) => {
    const senderOf = (relPath: string): string | undefined =>
      senders.get(messageKey({ channel: message.channel, relPath }));
    const names = new Map(message.to.map(({ name, host }) => [name, host]));
    return [...names].flatMap(([actor, host]) => {
      if (actor === EVERYONE || !served.has(actor)) return [];
      const wakes = activation(message, actor, host ?? '', senderOf);
      if (!wakes.wakes) return [];
      const debtor = host === undefined ? { actor } : { actor, host };
      const about = (reactions.get(messageKey(message)) ?? []).map((one) =>
        !isQuestion(message) && showsReading({ mark: null, ...one }, message.relPath)
          ? { ...one, mark: null }
          : one,
      );
      const gate = gateIn(about, actor, (plan) => reactions.get(messageKey(plan)) ?? []);
      return [{ message, actor, ...verdictOf(debtor, about), ...(gate && { gate }) }];
    });
  });
}

function gateIn(
  about: readonly Trace[],
  actor: string,
  reactionsTo: (plan: Trace) => readonly Trace[],
): WebGate | undefined {
  const plan = about.findLast((one) => one.from === actor && one.plan === true);
  const approver = plan?.to[0]?.name;
  if (plan === undefined || approver === undefined) return undefined;
  const isOver = reactionsTo(plan).some(({ from, decides, mark, re }) => {
    const isDecision = decides === true && from === approver;
    return re.includes(plan.relPath) && (isDecision || (mark === 'cancel' && from === actor));
  });
  return isOver ? undefined : { approver, proposal: plan.relPath, approved: false };
}
