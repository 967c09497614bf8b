import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import { suffixOf } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { Settled } from '../../state/settled.ts';
import type { Context } from '../context.ts';

export type { DeadLetter };

/** Lists all dead letters of this machine, oldest first. */
export function listDeadLetters({ deadLetters }: Context): Promise<DeadLetter[]> {
  return deadLetters.all();
}

/**
 * Finds a dead letter by its id, by a unique beginning or end of it, or by a message in it: its path,
 * with or without its channel, or its hex suffix.
 *
 * @throws CrosstalkError `not_found` or `ambiguous`
 */
export async function findDeadLetter({ deadLetters }: Context, id: string): Promise<DeadLetter> {
  const all = await deadLetters.all();
  const wanted = id.trim().toUpperCase();
  const exact = all.filter((letter) => letter.id === wanted);
  const matches =
    exact.length > 0
      ? exact
      : all.filter((letter) => letter.id.startsWith(wanted) || letter.id.endsWith(wanted));
  const found = matches.length > 0 ? matches : all.filter((letter) => holds(letter, id.trim()));
  const [only, ...more] = wanted === '' ? [] : found;
  if (only === undefined) {
    throw new CrosstalkError(
      'not_found',
      `no dead letter ${shown(id)} on this machine; list them with: crosstalk dlq`,
    );
  }
  if (more.length > 0) {
    throw new CrosstalkError(
      'ambiguous',
      `several dead letters match ${shown(id)}: ${found.map((letter) => letter.id).join(', ')}; give the whole id`,
    );
  }
  return only;
}

/** Minimum digits of a message's suffix that identify the message. */
const LEAST_DIGITS = 4;

function holds({ channel, messages }: DeadLetter, given: string): boolean {
  const isSuffix = given.length >= LEAST_DIGITS && /^[0-9a-f]+$/i.test(given);
  return messages.some(
    (relPath) =>
      given === relPath ||
      given === `${channel}/${relPath}` ||
      (isSuffix && suffixOf(relPath).startsWith(given.toLowerCase())),
  );
}

/**
 * Releases dead letters for another round of attempts and wakes the dispatcher.
 *
 * @param id an id, or `all`, which leaves out cancelled letters
 * @returns the released letters, and whether a running dispatcher was woken
 * @throws CrosstalkError `usage` for a cancelled letter: it would be cancelled again
 */
export async function retryDeadLetters(
  context: Context,
  id: string,
): Promise<{ released: DeadLetter[]; woken: boolean }> {
  const { deadLetters, now } = context;
  const letters = id === 'all' ? await deadLetters.all() : [await findDeadLetter(context, id)];
  const [only] = letters;
  if (id !== 'all' && only?.state === 'cancelled')
    throw new CrosstalkError(
      'usage',
      `${only.id} was cancelled, and stays so; send the message again, or forget it with: crosstalk dlq --drop ${only.id}`,
    );
  // Checked in the step that releases them: a letter that was answered in the meantime must not come
  // back.
  const released = await deadLetters.write((items) =>
    letters.flatMap(({ id }) => {
      const letter = items.get(id);
      if (letter === undefined || letter.state === 'cancelled') return [];
      const due: DeadLetter = {
        ...letter,
        state: 'retrying',
        attempts_since_release: 0,
        ...(letter.failures !== undefined && { failures: {} }),
        next_retry_at: now().toISOString(),
      };
      items.put(due);
      return [due];
    }),
  );
  const asked = await ask(context.paths.socket, { op: 'wake' }, 2000);
  return { released, woken: asked.kind === 'answered' };
}

/** Deletes dead letters: their messages stay on the bus and are not delivered again. */
export async function dropDeadLetters(
  { deadLetters, paths }: Context,
  letters: readonly DeadLetter[],
): Promise<void> {
  const settled = new Settled(paths.root);
  for (const { id, actor, channel, messages } of letters) {
    await settled.done(actor, channel, messages);
    await deadLetters.remove(id);
  }
}
