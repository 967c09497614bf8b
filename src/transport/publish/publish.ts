import { promisify } from 'node:util';
import { constants, deflate } from 'node:zlib';
import { passed } from '../../crash-points.ts';
import type { Blob, Commit } from '../../protocol/outgoing.ts';
import { wait, type Wait } from '../../wait.ts';
import type { Fetched } from '../clone/remote.ts';
import type { Failure } from '../git/failure.ts';
import type { Refused } from './admit.ts';
import type { Upstream } from './upstream.ts';

export type Published =
  | { ok: true; tip: string; commits: number; attempts: number; refused: readonly Refused[] }
  | { ok: false; failure: Failure; attempts: number };

/** Entries of commits, in the order in which they are to be made; each entry is published whole or not at all. */
export type Entries = readonly (readonly Commit[])[];

export interface PublishOptions {
  signal?: AbortSignal | undefined;
  /** Returns the reason why nothing may be built on a tip; called for each tip before building on it. */
  refuses?: (tip: string) => Promise<string | undefined>;
  /** Turns at pushing, among processes that would otherwise reject one another. */
  turns?: Turns | undefined;
  /** Waits until the remote may be contacted again, after a lost race. */
  permit?: ((kind: 'push' | 'read') => Promise<void>) | undefined;
  /** Called with each commit that is about to be pushed. */
  onPushing?: ((tip: string) => void) | undefined;
  /**
   * Called with the commits of a push that the remote has accepted, before anything is recorded on this
   * machine.
   */
  onTaken?: ((commits: readonly Commit[]) => void) | undefined;
  /** Waits by the machine's clock, unless another one is given. */
  wait?: Wait | undefined;
  /** Numbers from 0 to 1, for the wait after a lost race. */
  random?: (() => number) | undefined;
  /**
   * A commit that is made after the others, and never without one of them: it must not matter whether it
   * is on the bus. It counts in no result, and a push that may have been refused because of it is retried
   * without it.
   */
  beside?: Commit | undefined;
  /** Reads the bytes of attached files until git has them. */
  bytesOf?: ((blob: Blob) => Promise<Buffer | undefined>) | undefined;
}

/** The interface of the coordinator of turns. */
export interface Turns {
  lostRace: () => void;
  /**
   * Waits for a turn at pushing these, or until another process has pushed them along with its entries;
   * at the latest until `signal` is aborted.
   */
  take: (
    commits: readonly Commit[],
    signal: AbortSignal | undefined,
  ) => Promise<Turn | { kind: 'done'; tip: string } | undefined>;
}

interface Turn {
  kind: 'turn';
  /** The commit that the branch was at after the last turn. */
  tip: string | undefined;
  /** Entries that others wait to push. */
  along: { ticket: string; commits: Commit[] }[];
  end: (tip?: string, taken?: readonly string[]) => Promise<void>;
}

/** Maximum number of lost races of one publish; its entries then stay in the outbox. */
export const MAX_ATTEMPTS = 20;
/**
 * Maximum number of encounters with a lock at the remote: locks are held for milliseconds, so this one
 * may be stale.
 */
const MAX_LOCKED = 6;
const MAX_BACKOFF_MS = 1000;
/** Failures whose cause may be the pushed content. */
const MAY_BE_CONTENT: ReadonlySet<Failure['kind']> = new Set(['rejected', 'too_large', 'other']);
/** Number of files in one push from which on git's delta search takes longer than the rest of the push. */
const MUCH = 500;

/**
 * Publishes commits on the remote with one push, without index or checkout (protocol.md §10).
 *
 * Each attempt builds them on the newest known tip, then one push moves the branch. A rejected push means
 * that somebody was faster: wait for a turn, or without one a random time, fetch, build again. Commits
 * whose files are on the tip already are left out, so repeating a publish whose answer was lost writes
 * nothing twice.
 *
 * @param entries groups of commits: an entry is published whole, is on the tip already, or is refused
 *   whole, when a requirement of one of its commits does not hold there; see {@link Upstream.admit}
 */
export async function publish(
  upstream: Upstream,
  entries: Entries,
  options: PublishOptions,
): Promise<Published> {
  const turns = upstream.isShared ? options.turns : undefined;
  const parts = { upstream, entries, options };
  // A refused push may have been refused because of what it took along: the next one contains our entries
  // alone.
  let alone = false;
  let locked = 0;
  for (let attempt = 1; ; attempt++) {
    if (attempt > 1) {
      // This wait is outside a turn, for which others wait.
      if (locked > 0) await backOff(attempt, options);
      await options.permit?.('read');
      await options.permit?.('push');
    }
    const taken = await turns?.take(entries.flat(), options.signal);
    if (taken?.kind === 'done') {
      // The branch may have been set back since: only the fetched branch shows what is on the bus.
      const fetched = await upstream.fetch(options.signal);
      if (!fetched.ok) return { ...fetched, attempts: attempt - 1 };
      const commits = entries.flat().length;
      if (await isThere(upstream, entries))
        return { ok: true, tip: taken.tip, commits, attempts: attempt - 1, refused: [] };
    }
    const turn = taken?.kind === 'done' ? undefined : taken;
    const tried = await inTurn(parts, attempt, alone, turn);
    if (tried.ok) return { ...tried, attempts: tried.commits === 0 ? attempt - 1 : attempt };
    const { failure } = tried;
    if (!tried.pushed) return { ok: false, failure, attempts: attempt - 1 };
    const lostRace = failure.kind === 'behind' || failure.kind === 'contention';
    if (lostRace) turns?.lostRace();
    if (failure.lock !== undefined && ++locked === MAX_LOCKED)
      return { ok: false, failure, attempts: attempt };
    const again = lostRace || tried.along;
    if (!again || attempt >= MAX_ATTEMPTS) return { ok: false, failure, attempts: attempt };
    alone = !lostRace;
  }
}

/** Whether the bus, as known here, already has all of some entries. */
async function isThere(upstream: Upstream, entries: Entries): Promise<boolean> {
  const { missing, refused } = await upstream.admit(await upstream.tip(), entries);
  return missing.length + refused.length === 0;
}

type Tried =
  | { ok: true; tip: string; commits: number; refused: readonly Refused[] }
  | {
      ok: false;
      failure: Failure;
      /** Whether a push was tried; it was not when the fetch before it had failed. */
      pushed: boolean;
      /** Whether it contained entries of others, or the optional commit, and may have failed because of them. */
      along: boolean;
    };

/** Makes one attempt within a turn, which ends with it in any case. */
async function inTurn(
  parts: { upstream: Upstream; entries: Entries; options: PublishOptions },
  attempt: number,
  alone: boolean,
  turn: Turn | undefined,
): Promise<Tried> {
  const { upstream, entries, options } = parts;
  let moved: string | undefined;
  let taken: string[] = [];
  try {
    if (attempt > 1 && turn === undefined) await backOff(attempt, options);
    const fetched = await catchUpWith(upstream, attempt > 1, turn?.tip, options.signal);
    if (!fetched.ok) return { ...fetched, pushed: false, along: false };
    const along = alone ? [] : (turn?.along ?? []);
    const all = [...along.map(({ commits }) => commits), ...entries];
    const { beside, ...usual } = options;
    const tried = await tryOnce(upstream, all, alone ? usual : options);
    if (!tried.ok) {
      const isSuspect = !alone && beside !== undefined && MAY_BE_CONTENT.has(tried.failure.kind);
      return { ...tried, pushed: true, along: along.length > 0 || isSuspect };
    }
    moved = tried.tip;
    const left = new Set(tried.refused.map(({ entry }) => entry));
    taken = along.flatMap(({ ticket }, entry) => (left.has(entry) ? [] : [ticket]));
    const ours = tried.refused.filter(({ entry }) => entry >= along.length);
    const refused = ours.map(({ entry, ...why }) => ({ entry: entry - along.length, ...why }));
    return { ...tried, refused };
  } finally {
    await turn?.end(moved, taken);
  }
}

/** Fetches when others are known to have pushed: after a lost race, or according to the last turn. */
async function catchUpWith(
  upstream: Upstream,
  lostRace: boolean,
  lastTip: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Fetched> {
  if (!upstream.isShared) return { ok: true };
  const known = await upstream.tip();
  const stale = lostRace || (lastTip !== undefined && lastTip !== known);
  if (!stale) return { ok: true };
  const fetched = await upstream.fetch(signal);
  if (fetched.ok || fetched.failure.kind !== 'no_branch' || known === undefined) return fetched;
  const failure = await upstream.make(known, signal);
  return failure === undefined ? { ok: true } : { ok: false, failure };
}

/**
 * Milliseconds to wait after a lost race, before an attempt without a turn.
 *
 * @param attempt number of the next attempt: 2 after the first lost race
 * @param random from 0 to 1
 */
export function backOffMs(attempt: number, random: number): number {
  return random * Math.min(MAX_BACKOFF_MS, 20 * 2 ** (attempt - 1));
}

function backOff(attempt: number, options: PublishOptions): Promise<void> {
  const { random = Math.random, signal } = options;
  return (options.wait ?? wait)(backOffMs(attempt, random()), signal);
}

/** Builds the commits on the tip known here and pushes them. */
async function tryOnce(
  upstream: Upstream,
  entries: Entries,
  { signal, refuses, onPushing, onTaken, beside }: PublishOptions,
): Promise<
  | { ok: true; tip: string; commits: number; refused: readonly Refused[] }
  | { ok: false; failure: Failure }
> {
  const tip = await upstream.tip();
  const refusal = tip === undefined ? undefined : await refuses?.(tip);
  if (refusal !== undefined) return { ok: false, failure: { kind: 'refused', reason: refusal } };
  const { missing, refused } = await upstream.admit(tip, entries);
  if (missing.length === 0 && tip !== undefined) return { ok: true, tip, commits: 0, refused };
  const built = await upstream.build(tip, beside === undefined ? missing : [...missing, beside]);
  if (!built.ok) return built;
  passed('commits_built');
  const moving = upstream.move(tip, built.oid, {
    signal,
    isDense: isAllDense(missing),
    isMuch: missing.reduce((sum, { files }) => sum + files.length, 0) >= MUCH,
    onTaken: () => onTaken?.(missing),
  });
  onPushing?.(built.oid);
  const failure = await moving;
  if (failure !== undefined) return { ok: false, failure };
  passed('pushed');
  return { ok: true, tip: built.oid, commits: missing.length, refused };
}

const deflated = promisify(deflate);

/** Bytes of a file from which on a few samples show whether compression would make it smaller. */
const LARGE = 1 << 18;
const PIECE = 1 << 14;
/** Maximum bytes that are sent uncompressed together with incompressible files. */
const LIGHT = 1 << 16;

/**
 * Whether git need not try to compress a push: nearly all of it are incompressible files, such as
 * pictures and archives. Trying takes longer than the rest of such a push.
 */
function isAllDense(commits: readonly Commit[]): boolean {
  let [dense, other] = [0, 0];
  for (const { files, blobs = [] } of commits) {
    for (const { content } of files) other += content.length;
    for (const blob of blobs)
      if (blob.dense === true) dense += blob.bytes;
      else other += blob.bytes;
  }
  return dense > 0 && other <= LIGHT;
}

/** Whether a file is incompressible and large enough for that to matter. */
export async function isDense(bytes: Buffer): Promise<boolean> {
  if (bytes.length < LARGE) return false;
  const places = [0, bytes.length / 2, bytes.length - PIECE].map(Math.floor);
  const pieces = Buffer.concat(places.map((at) => bytes.subarray(at, at + PIECE)));
  const packed = await deflated(pieces, { level: constants.Z_BEST_SPEED });
  return packed.length > 0.97 * pieces.length;
}
