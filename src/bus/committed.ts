import type { Commit } from '../protocol/commit.ts';
import { placeOf } from '../protocol/layout.ts';

/**
 * Returns a commit of the outbox with all requirements: in addition to its own ones, its messages have to
 * be new.
 */
export function committed(commit: Commit): Commit {
  const messages = commit.files.filter(({ path }) => placeOf(path).kind === 'message');
  const fresh = messages.map(({ path }) => ({ path, oid: null }));
  return { ...commit, requires: [...(commit.requires ?? []), ...fresh] };
}
