import type { Claims } from '../../bus/claims.ts';
import {
  beatFile,
  claimFile,
  endFile,
  formatBeat,
  formatClaim,
  formatEnd,
  type Claim,
  type Claimed,
  type ClaimEnding,
  type Fenced,
} from '../../protocol/claim.ts';
import { authorOf, type Commit, type Requirement } from '../../protocol/outgoing.ts';
import type { ClaimStep } from '../../state/dead-letters.ts';
import type { OutboxEntry } from '../../state/outbox.ts';

/** A claim of this process, which the remote's tip has shown. */
export interface OwnClaim extends Fenced {
  host: string;
  run: string;
  /** Number of tries before this one. */
  attempts: number;
}

/** A job as far as a claim is concerned. */
export interface Claiming {
  actor: string;
  channel: string;
  messages: readonly string[];
  /** Open questions behind answers of peers, as `<channel id>/<relPath>`. */
  questions?: readonly string[];
  abandon?: () => void;
}

/** Outcome of the attempt to claim mail. */
export type Won = { ok: true; claims: OwnClaim[] } | { ok: false; isOver: boolean };

/** Time between beats of a thread that waits for others, times three, in milliseconds. */
export const WAITING_LEASE_MS = 12 * 3_600_000;

/** The ending of a claim, with what is known of it. */
export interface Ending {
  end: ClaimEnding;
  attempted?: true;
  /** ISO 8601 UTC. */
  notBefore?: string;
}

/** Returns the file that ends a claim. */
export function endingFile(
  of: OwnClaim,
  ending: Ending,
  at: string,
): { path: string; content: string } {
  return { path: endFile(of, of.n), content: formatEnd({ ...ending, run: of.run, at }) };
}

/** Returns the file of a beat of a claim whose thread waits for others. */
export function waitingFile(of: OwnClaim, at: string): { path: string; content: string } {
  const beat = { run: of.run, lease: WAITING_LEASE_MS, waits: true as const, at };
  return { path: beatFile(of, of.n), content: formatBeat(beat) };
}

/** Returns a commit of claims' files alone, which is left out where its conditions do not hold. */
export function claimCommit(
  host: string,
  at: string,
  subject: string,
  { requires, files }: ClaimStep,
): Commit {
  return {
    at,
    author: authorOf(host, host),
    subject: `crosstalk: ${subject}`,
    files: [...files],
    requires,
    optional: true,
  };
}

/**
 * Makes the commit of the next claim of a message, which is made only on what was seen of the one before.
 *
 * @param by the host, the run's name, the lease in milliseconds, and the time as ISO 8601 in UTC
 */
export function nextClaim(
  { actor, channel, relPath }: Claimed,
  before: Claims | undefined,
  by: Claim,
): { commit: Commit; claim: OwnClaim } {
  const { host, run, at } = by;
  const of = { actor, channel, relPath };
  const n = (before?.n ?? 0) + 1;
  const requires: Requirement[] = [{ path: claimFile(of, n), oid: null }];
  if (before !== undefined)
    requires.push(
      { path: claimFile(of, n - 1), oid: before.oids.at(-1) ?? null },
      { path: beatFile(of, n - 1), oid: before.beatOid },
      { path: endFile(of, n - 1), oid: before.endOid },
    );
  const files = [{ path: claimFile(of, n), content: formatClaim(by) }];
  const subject = `${host} takes a message for ${actor}`;
  const { attempts = 0, oids = [] } = before ?? {};
  return {
    commit: claimCommit(host, at, subject, { requires, files }),
    claim: { ...of, host, n, oids, run, attempts },
  };
}

/** Returns the next claim of a message together with its end, which has to be new as well. */
export function endedClaim(
  of: Claimed,
  before: Claims | undefined,
  by: Claim,
  ending: Ending,
): ClaimStep {
  const { commit, claim } = nextClaim(of, before, by);
  const end = endingFile(claim, ending, by.at);
  const requires = [...(commit.requires ?? []), { path: end.path, oid: null }];
  return { requires, files: [...commit.files, end] };
}

/** Returns what ends a claim whose host is gone, on condition that it has not been heard of since. */
export function abandoning(
  of: Claimed,
  { n, claim: { run }, oids, beatOid }: Claims,
  at: string,
): ClaimStep {
  const requires = [
    { path: claimFile(of, n), oid: oids.at(-1) ?? null },
    { path: beatFile(of, n), oid: beatOid },
    { path: claimFile(of, n + 1), oid: null },
    { path: endFile(of, n), oid: null },
  ];
  return {
    requires,
    files: [{ path: endFile(of, n), content: formatEnd({ end: 'failed', run, at }) }],
  };
}

/** Returns an entry whose first commit is made only behind the fence, and whose last one ends the claims. */
export function fenced(entry: OutboxEntry, { requires, files }: ClaimStep): OutboxEntry {
  if (requires.length === 0 && files.length === 0) return entry;
  const last = entry.commits.length - 1;
  return {
    ...entry,
    commits: entry.commits.map((commit, index) => ({
      ...commit,
      ...(index === 0 && { requires: [...(commit.requires ?? []), ...requires] }),
      ...(index === last && { files: [...commit.files, ...files] }),
    })),
  };
}

/** Returns the commit of a notice, which is left out where another host has its mail; the last one ends the claims. */
export function behind(
  commit: Commit,
  { requires, files }: ClaimStep,
  { isLast }: { isLast: boolean },
): Commit {
  const more = isLast ? files : [];
  return { ...commit, files: [...commit.files, ...more], requires, optional: true };
}
