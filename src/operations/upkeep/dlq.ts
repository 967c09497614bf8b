import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Context } from '../context.ts';

/** All dead letters of this machine, oldest first. */
export function listDeadLetters({ deadLetters }: Context): Promise<DeadLetter[]> {
  return deadLetters.all();
}

/**
 * Finds a dead letter by its id, or by a unique beginning or end of it.
 *
 * @throws CrosstalkError `not_found` or `ambiguous`
 */
export async function findDeadLetter({ deadLetters }: Context, id: string): Promise<DeadLetter> {
  const all = await deadLetters.all();
  const wanted = id.toUpperCase();
  const exact = all.filter((letter) => letter.id === wanted);
  const matches =
    exact.length > 0
      ? exact
      : all.filter((letter) => letter.id.startsWith(wanted) || letter.id.endsWith(wanted));
  const [only, ...more] = wanted === '' ? [] : matches;
  if (only === undefined) {
    throw new CrosstalkError(
      'not_found',
      `no dead letter ${shown(id)} on this machine; list them with: crosstalk dlq`,
    );
  }
  if (more.length > 0) {
    throw new CrosstalkError(
      'ambiguous',
      `several dead letters match ${shown(id)}: ${matches.map((letter) => letter.id).join(', ')}; give the whole id`,
    );
  }
  return only;
}

/**
 * Releases dead letters for another round of attempts and wakes the dispatcher.
 *
 * @param id an id, or `all`
 * @returns the released letters, and whether a running dispatcher was woken
 */
export async function retryDeadLetters(
  context: Context,
  id: string,
): Promise<{ released: DeadLetter[]; woken: boolean }> {
  const letters =
    id === 'all' ? await context.deadLetters.all() : [await findDeadLetter(context, id)];
  const released = letters.map((letter) => ({
    ...letter,
    state: 'retrying' as const,
    attempts_since_release: 0,
    next_retry_at: context.now().toISOString(),
  }));
  for (const letter of released) await context.deadLetters.put(letter);
  const asked = await ask(context.paths.socket, { op: 'wake' }, 2000);
  return { released, woken: asked.kind === 'answered' };
}

/** Deletes dead letters: their messages stay on the bus and are not delivered again. */
export async function dropDeadLetters(context: Context, id: string): Promise<DeadLetter[]> {
  const letters =
    id === 'all' ? await context.deadLetters.all() : [await findDeadLetter(context, id)];
  for (const letter of letters) await context.deadLetters.remove(letter.id);
  return letters;
}
