import { reasonOf } from '../errors.ts';
import { saidSecrets, type FoundSecret } from '../protocol/text/secrets.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import type { Failure } from '../transport/transport.ts';

/** Looks for secrets in an entry; rejects if it cannot. */
export type LookForSecrets = (entry: OutboxEntry) => Promise<FoundSecret[]>;

interface Screened {
  /** What may leave. */
  clean: OutboxEntry[];
  held: { entry: OutboxEntry; found: FoundSecret[] }[];
  /** What could not be looked at, and why: it must not leave before that. */
  unknown: { entry: OutboxEntry; reason: string }[];
}

/**
 * Divides entries by whether they may leave this machine. They are looked at before every push: nothing
 * on disk says that an entry is clean, so nobody can write that, and a process that was killed between
 * writing and pushing has lost nothing.
 */
export async function screened(
  entries: readonly OutboxEntry[],
  look: LookForSecrets | undefined,
): Promise<Screened> {
  if (look === undefined) return { clean: [...entries], held: [], unknown: [] };
  const result: Screened = { clean: [], held: [], unknown: [] };
  for (const entry of entries) {
    try {
      const found = await look(entry);
      if (found.length === 0) result.clean.push(entry);
      else result.held.push({ entry, found });
    } catch (error) {
      result.unknown.push({
        entry,
        reason: `it cannot be searched for secrets, and does not leave before that: ${reasonOf(error)}`,
      });
    }
  }
  return result;
}

/** Why an entry with secrets is not published; it shows none of them. */
export function secretFailure(found: readonly FoundSecret[]): Failure {
  return { kind: 'secret', reason: saidSecrets(found) };
}

/**
 * What becomes of an entry with secrets that cannot be put aside, because the disk is full: it stays queued,
 * is looked at again before each push, and keeps nothing else from leaving.
 */
export function notHeld(
  entry: OutboxEntry,
  found: readonly FoundSecret[],
  why: string,
): { entry: OutboxEntry; reason: string } {
  return { entry, reason: `${saidSecrets(found)}; not put aside: ${why}` };
}
