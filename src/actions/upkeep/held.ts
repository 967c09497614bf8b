import { CrosstalkError } from '../../errors.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import { saidSecrets } from '../../protocol/text/secrets.ts';
import { shown } from '../../protocol/text/result.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { hasFiles, type HeldEntry } from '../../state/outbox.ts';
import type { Context } from '../context.ts';
import { publish, type Delivered } from '../deliver.ts';

/**
 * Releases held entries without changes, and publishes them.
 *
 * @param id an id, the beginning or end of one, or `all`
 * @returns each with the result of its delivery
 * @throws CrosstalkError `not_found` or `ambiguous`
 */
export async function releaseHeldSecrets(
  context: Context,
  id: string,
): Promise<{ id: string; delivered: Delivered }[]> {
  const released = [];
  for (const entry of await named(context, id)) {
    if (!(await context.outbox.release(entry.id))) continue;
    const delivered = await publish(context, entry.id, { wait: true, withFiles: hasFiles(entry) });
    released.push({ id: entry.id, delivered });
  }
  return released;
}

/**
 * Drops held entries. A sender that waits for a dropped answer is notified that there is none: its
 * delivery becomes a dead letter, which `crosstalk dlq --retry` runs again.
 *
 * Crash order: the dead letter, under the id of the entry → the entry is removed. After a crash in
 * between, the entry is dropped again, with the same outcome.
 *
 * @throws CrosstalkError `not_found` or `ambiguous`
 */
export async function dropHeldSecrets(context: Context, id: string): Promise<string[]> {
  const { outbox, deadLetters, paths } = context;
  const entries = await named(context, id);
  for (const entry of entries) {
    const letter = letterOf(entry, context.now());
    if (letter !== undefined) await deadLetters.putToTell(letter);
    await outbox.drop(entry.id);
  }
  if (entries.length > 0) await ask(paths.socket, { op: 'wake' }, 2000);
  return entries.map((entry) => entry.id);
}

async function named({ outbox }: Context, given: string): Promise<HeldEntry[]> {
  const all = await outbox.held();
  const wanted = given.trim();
  if (wanted === 'all') return all;
  const exact = all.filter(({ id }) => id === wanted);
  const upper = wanted.toUpperCase();
  const near = all.filter(({ id }) => id.startsWith(upper) || id.endsWith(upper));
  const found = exact.length > 0 || wanted === '' ? exact : near;
  const [only, ...more] = found;
  if (only === undefined)
    throw new CrosstalkError(
      'not_found',
      `nothing is held under ${shown(given)} on this machine; list it with: crosstalk outbox`,
    );
  if (more.length > 0)
    throw new CrosstalkError(
      'ambiguous',
      `several entries match ${shown(given)}: ${found.map(({ id }) => id).join(', ')}; give the whole id`,
    );
  return [only];
}

/** Returns the dead letter of an answer that is dropped; undefined for an entry that settles nothing. */
function letterOf({ id, delivery, held }: HeldEntry, now: Date): DeadLetter | undefined {
  if (delivery === undefined) return undefined;
  const at = now.toISOString();
  const { actor, channel, messages } = delivery;
  return {
    ...{ id, actor, channel, messages, tier: '', command: '' },
    state: 'quarantined',
    reason: 'secret',
    detail: `its answer was held, as it looks like a secret: ${saidSecrets(held)}; it was dropped`,
    ...{ exit_code: null, signal: null, stderr_tail: '' },
    ...{ attempts: 1, attempts_since_release: 1, first_failed_at: at, last_failed_at: at },
  };
}
