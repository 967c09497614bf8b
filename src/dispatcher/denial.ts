import { passed } from '../crash-points.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { answerMessages, type Placed } from '../protocol/reply.ts';
import type { Gate } from '../state/gates.ts';
import type { DispatcherParts } from './dispatcher-parts.ts';
import type { Briefing } from './run/briefing.ts';
import type { Gated } from './gates/gated.ts';

interface DenialParts extends Pick<
  DispatcherParts,
  'outbox' | 'publisher' | 'deliveries' | 'deadLetters' | 'newId' | 'suffix' | 'now'
> {
  gated: Gated;
  /** Publishes an entry of the outbox, without waiting for it. */
  publish: (id: string) => void;
}

/**
 * Answers with the note of a denial. Crash order: the answer in the gate → in the outbox → no gate.
 *
 * @param host the alias of this machine
 * @param brief reads the mail of the gate; called once at most
 */
export async function answerDenied(
  parts: DenialParts,
  host: string,
  gate: Gate,
  brief: () => Promise<Briefing>,
): Promise<void> {
  const { gated, outbox, publisher, deliveries, deadLetters, publish } = parts;
  const { actor, channel, messages } = gate;
  let { answer } = gate;
  if (answer === undefined) {
    const letters = await deadLetters.all();
    const letter = letters.find(
      (one) =>
        one.actor === actor && one.channel === channel && one.messages.includes(messages[0] ?? ''),
    );
    const answers = denial(parts, host, gate, await brief());
    answer = {
      id: parts.newId(),
      commits: answers.map(
        ({ message, channel: to }) => outgoing(message, to, host, parts.suffix()).commit,
      ),
      delivery: { actor, channel, messages, ...(letter && { deadLetter: letter.id }) },
    };
    await gated.put({ ...gate, answer });
  }
  deliveries.mailboxes.take(actor, channel, messages);
  if (answer.commits.length === 0) {
    await deliveries.settle(actor, channel, messages);
    const { deadLetter } = answer.delivery ?? {};
    if (deadLetter !== undefined) await deadLetters.remove(deadLetter);
  } else {
    await outbox.put(answer);
    publisher.expected.add(answer);
    passed('denial_queued');
  }
  await gated.remove(gate.id);
  if (answer.commits.length > 0) publish(answer.id);
}

function denial(
  { now }: DenialParts,
  host: string,
  { actor, channel, decided }: Gate,
  { plans, batch }: Briefing,
): Placed[] {
  const asked = plans.filter(({ answers }) => answers);
  const writer = { actor, host, at: now() };
  const note = decided?.note ?? '';
  return answerMessages(asked, batch, note, writer, channel).map(({ channel: to, message }) => ({
    channel: to,
    message: { ...message, extra: { ...message.extra, denied: decided?.relPath } },
  }));
}
