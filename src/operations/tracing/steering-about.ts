import type { Steered } from '../../protocol/steered.ts';
import { whyNotSteering } from '../../protocol/steer.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';

/** What became of a message that is for work under way (warm.md, "Steering"). */
export interface SteeringAbout {
  /** The question for the work on which it is. */
  steers: string;
  /**
   * `into`, `again`: it went into a run under way, which went on with it, or was ended and begun again with both;
   * `together`: a run had both from its beginning; `own`: it came too late, and was handled by itself; `open`: no run
   * has had it yet; `ordinary`: it is no such message.
   */
  became: Steered['how'] | 'together' | 'own' | 'open' | 'ordinary';
  /** The id of the run, for `into` and `again`. */
  run?: string;
  /** The answer to it, if there is one. */
  answer?: string;
  /** Why it is an ordinary message. */
  why?: string;
}

/**
 * What became of it, by what the answers say and by the runs of this machine.
 *
 * @param answers the relPaths of the answers to it
 * @returns undefined for a message that does not say that it is one
 */
export async function steeringAbout(
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

/** The same in words. */
export function steeringLine({ steers, became, run = '', why = '' }: SteeringAbout): string {
  switch (became) {
    case 'into':
      return `for the work on ${steers}: it went into the run ${run} while that was under way`;
    case 'again':
      return `for the work on ${steers}: the run ${run} was ended and begun again with both`;
    case 'together':
      return `for the work on ${steers}: one run had both from its beginning`;
    case 'own':
      return `for the work on ${steers}: it came too late for its run, and is handled by itself`;
    case 'open':
      return `for the work on ${steers}: no run has it yet`;
    case 'ordinary':
      return `not for work under way, as ${why}: it is a message like any other`;
  }
}
