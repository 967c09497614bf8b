import { CHANNELS, messageFile } from '../protocol/layout.ts';
import type { Delivery } from '../protocol/mailbox.ts';
import type { Transport } from '../transport/transport.ts';

/** The relation of some commits to a later one; see {@link continuity}. */
export type Continuity =
  { kind: 'grown' } | { kind: 'archived' } | { kind: 'rewritten'; lost: string[] };

/**
 * Determines how history leads from some commits to another one: by adding to them; by archiving them,
 * which removes files and adds none; or not at all. In the first two cases the difference of the trees
 * shows the added files.
 *
 * @returns for a rewritten history also those of the commits that are no longer part of it
 */
export async function continuity(
  transport: Transport,
  from: readonly string[],
  to: string,
): Promise<Continuity> {
  const outside = await transport.outside(from, to);
  if (outside.length === 0) return { kind: 'grown' };
  const lost: string[] = [];
  for (const commit of outside)
    if (!(await transport.epochs.succeeds(commit, to))) lost.push(commit);
  return lost.length === 0 ? { kind: 'archived' } : { kind: 'rewritten', lost };
}

const COMMITTED = /^committer .* (\d+) [+-]\d{4}$/m;
const DAY_SECONDS = 86_400;

/**
 * Leaves out messages that were restored from an archive, because they were delivered before they
 * were archived. Git is asked only when a message is older by more than a day than the commit that
 * added it.
 */
export async function withoutRestored<T extends Pick<Delivery, 'channel' | 'relPath'>>(
  transport: Transport,
  from: string,
  to: string,
  woken: T[],
): Promise<T[]> {
  if (woken.length === 0) return woken;
  const tip = (await transport.objects.read(to))?.content?.toString('utf8') ?? '';
  const seconds = Number(COMMITTED.exec(tip)?.[1] ?? 0) - DAY_SECONDS;
  const recent = new Date(seconds * 1000).toISOString().slice(0, 10).replaceAll('-', '/');
  if (!woken.some(({ relPath }) => relPath < recent)) return woken;
  const restored = new Set<string>();
  for (const merge of await transport.epochs.restoredBy(from, to))
    for await (const changes of transport.changes(`${merge}^1`, merge, [CHANNELS]))
      for (const { path, status } of changes) if (status === 'A') restored.add(path);
  return woken.filter(({ channel, relPath }) => !restored.has(messageFile(channel, relPath)));
}
