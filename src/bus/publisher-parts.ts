import type { Acquired } from '../state/lock.ts';
import type { Outbox, OutboxEntry } from '../state/outbox.ts';
import type { Commit, Published } from '../transport/transport.ts';
import type { Wait } from '../wait.ts';
import type { FoundSecret } from '../protocol/text/found-secret.ts';
import type { Expected } from './expected.ts';
import type { LookForSecrets } from './screening.ts';

/** What a publisher is made of. */
export interface PublisherParts {
  outbox: Pick<Outbox, 'all' | 'get' | 'remove' | 'setAside' | 'hold'>;
  /** Looks for secrets in what is about to be pushed; without it, everything leaves. */
  lookForSecrets?: LookForSecrets;
  /**
   * @param onTaken called with the commits that the remote has taken, before this machine has a note of that
   * @param beside a commit that is made after the others, and never alone
   */
  publish: (
    entries: Commit[][],
    signal?: AbortSignal,
    onTaken?: (commits: readonly Commit[]) => void,
    beside?: Commit,
  ) => Promise<Published>;
  /** What is to be pushed with some entries, if anything; it does not reject. */
  beside?: (entries: readonly OutboxEntry[]) => Promise<Commit | undefined>;
  /** Takes the right to a push: 0, or the milliseconds until there may be one. */
  mayPush?: () => Promise<number>;
  /** Takes the machine's writer lock; waits for it no longer than until `signal` is aborted. */
  lock: (signal: AbortSignal) => Promise<Acquired>;
  now: () => Date;
  /** In the time of the machine, unless another one is given. */
  wait?: Wait;
  /** Deliveries to settle that other parts know of before there is a publisher. */
  expected?: Expected;
  /** Settles what an entry delivered; done before the entry leaves the outbox. */
  onPublished?: (entry: OutboxEntry) => Promise<void>;
}

/** What a publisher tells of, as it happens. */
export interface PublisherEvents {
  /** The remote has taken these commits, of which this machine has no note yet. */
  taken: [commits: readonly Commit[]];
  /** A push of some entries has succeeded or failed. */
  push: [result: Published, entries: readonly OutboxEntry[]];
  /** A push added messages, which may wake an actor of this machine. */
  news: [];
  /** An entry cannot be published as it is, and is set aside. */
  setAside: [entry: OutboxEntry, reason: string];
  /** An entry holds what looks like a secret, and stays here. */
  held: [entry: OutboxEntry, found: FoundSecret[]];
}
