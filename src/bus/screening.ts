import { reasonOf } from '../errors.ts';
import { saidSecrets, type FoundSecret } from '../protocol/text/secrets.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import type { Failure } from '../transport/transport.ts';

/** A search for secrets in an entry; it rejects when it fails. */
export type LookForSecrets = (entry: OutboxEntry) => Promise<FoundSecret[]>;

interface Screened {
  /** Entries that may be published. */
  clean: OutboxEntry[];
  held: { entry: OutboxEntry; found: FoundSecret[] }[];
  /** Entries that could not be searched, with the reason: they must not be published before that. */
  unknown: { entry: OutboxEntry; reason: string }[];
}

/**
 * Divides entries by whether they may leave this machine. They are searched before every push: no file on
 * disk marks an entry as clean, so nobody can forge such a mark, and a process that was killed between
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

/** Builds the failure of an entry with secrets, which shows none of them. */
export function secretFailure(found: readonly FoundSecret[]): Failure {
  return { kind: 'secret', reason: saidSecrets(found) };
}

/**
 * Describes an entry with secrets that cannot be held, because the disk is full: it stays queued, is
 * searched again before each push, and blocks no other entry.
 */
export function notHeld(
  entry: OutboxEntry,
  found: readonly FoundSecret[],
  why: string,
): { entry: OutboxEntry; reason: string } {
  return { entry, reason: `${saidSecrets(found)}; not put aside: ${why}` };
}
