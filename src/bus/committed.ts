import { placeOf } from '../protocol/layout.ts';
import type { OutboxCommit } from '../state/outbox.ts';
import type { Commit } from '../transport/transport.ts';

/**
 * A commit of the outbox as it is to be made: besides its own requirements, its messages have to be
 * new.
 */
export function committed({ at, requires = [], ...rest }: OutboxCommit): Commit {
  const messages = rest.files.filter(({ path }) => placeOf(path).kind === 'message');
  const fresh = messages.map(({ path }) => ({ path, oid: null }));
  return { ...rest, at: new Date(at), requires: [...requires, ...fresh] };
}
