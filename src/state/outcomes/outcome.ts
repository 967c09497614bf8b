import { passed } from '../../crash-points.ts';
import type { DeadLetter, DeadLetters } from '../dead-letters.ts';
import type { Gate } from '../gates.ts';
import type { Outbox, OutboxEntry } from '../outbox.ts';
import type { Settled } from '../settled.ts';

/** What is put on record first of a run that has come to its end: from then on it is not made again. */
export type Outcome =
  | { answer: OutboxEntry }
  | { plan: Gate }
  | { failure: DeadLetter[] }
  /** `letter` is the id of the dead letter of which it was a retry. */
  | { silence: { actor: string; channel: string; messages: string[] }; letter?: string };

/** Where outcomes are on record. */
export interface OutcomeParts {
  outbox: Outbox;
  deadLetters: DeadLetters;
  settled: Settled;
  gated: { put: (gate: Gate) => Promise<void> };
}

/** Puts an outcome on record; to do it again changes nothing. */
export async function putOutcome(
  { outbox, gated, deadLetters, settled }: OutcomeParts,
  outcome: Outcome,
): Promise<void> {
  if ('answer' in outcome) return outbox.put(outcome.answer);
  if ('plan' in outcome) return gated.put(outcome.plan);
  if ('silence' in outcome) {
    const { actor, channel, messages } = outcome.silence;
    if (outcome.letter !== undefined) await deadLetters.remove(outcome.letter);
    return settled.silent(actor, channel, messages);
  }
  for (const letter of outcome.failure) {
    await (letter.state === 'retrying' ? deadLetters.put(letter) : deadLetters.putToTell(letter));
    passed('letter_written');
  }
}
