import {
  claimFolder,
  claimPlace,
  currentOf,
  isLastWord,
  MAX_LEASE_MS,
  MIN_LEASE_MS,
  parseBeat,
  parseClaim,
  parseEnd,
  type Beat,
  type Claim,
  type Claimed,
  type ClaimEnd,
} from '../protocol/claim.ts';
import { shown } from '../protocol/text/result.ts';
import { durationText, parseDuration } from '../protocol/text/times.ts';
import type { CloneDefaults } from '../transport/clone/handle.ts';
import type { Transport } from '../transport/transport.ts';
import { readHosts } from './host.ts';
import { profileFiles, messageFile } from '../protocol/layout.ts';
import { parseProfile } from '../protocol/files/actor.ts';

const LEASE_MS = 15 * 60_000;
const SHORTEST_LEASE_MS = 2 * 60_000;

/** Number of slow pushes that a lease outlasts at least. */
const PUSHES = 10;

/**
 * Returns the lease of this machine's claims, in milliseconds, by `git config crosstalk.claimLease`; 15 minutes
 * unless that is a duration of 2 minutes to a day. It is never less than ten slow pushes take. Tests may shorten it,
 * by `CROSSTALK_TEST_LEASE=1`.
 *
 * @param pushMs time that all but one of twenty pushes take at most
 * @returns `problem`: the reason why the setting is not used
 */
export function claimLeaseOf(
  { claimLease }: Pick<CloneDefaults, 'claimLease'>,
  env: NodeJS.ProcessEnv,
  pushMs = 0,
): { ms: number; problem?: string } {
  const isTest = env['CROSSTALK_TEST_LEASE'] === '1';
  const floor = isTest ? 0 : Math.min(PUSHES * pushMs, MAX_LEASE_MS);
  if (claimLease === undefined) return { ms: Math.max(LEASE_MS, floor) };
  const ms = parseDuration(claimLease.trim());
  const least = isTest ? MIN_LEASE_MS : SHORTEST_LEASE_MS;
  if (ms !== undefined && ms >= least && ms <= MAX_LEASE_MS) return { ms: Math.max(ms, floor) };
  const problem = `git config crosstalk.claimLease is ${shown(claimLease)}, expected a duration from ${durationText(least)} to ${durationText(MAX_LEASE_MS)}, such as 15m; ${durationText(LEASE_MS)} is in force`;
  return { ms: Math.max(LEASE_MS, floor), problem };
}

/** The claims of a message at a tip. */
export interface Claims {
  /** Number of the current claim, from 1; 0 where only the end is left. */
  n: number;
  claim: Claim;
  /** Object ids of the claims 1…n, in this order. */
  oids: string[];
  beat?: Beat;
  /** Object id of the beat; null without one. */
  beatOid: string | null;
  /** The end of the current claim. */
  end?: ClaimEnd;
  /**
   * The last word about the message, beside whichever claim: those that somebody adds after it do not open the task
   * again, nor does a history that lost the claim.
   */
  over?: ClaimEnd;
  /** Object id of the current claim's end; null without one. */
  endOid: string | null;
  /** Number of tries that are over: those that failed, and those whose lease ran out. */
  attempts: number;
}

/** A claim that cannot be read takes the message too, for as long as a claim without a beat does. */
const UNREADABLE: Claim = { host: '', run: '', lease: LEASE_MS, at: '' };

/** Returns the claims of a message at a commit; undefined if nobody has claimed it. It starts no process. */
export async function claimsAt(
  transport: Pick<Transport, 'objects' | 'list'>,
  tip: string,
  of: Claimed,
): Promise<Claims | undefined> {
  const { objects } = transport;
  const claims = new Map<number, string>();
  const beats = new Map<number, string>();
  const ends = new Map<number, string>();
  for (const { path, oid, type } of await transport.list(tip, [claimFolder(of)])) {
    const place = claimPlace(path);
    if (place === undefined || type !== 'blob') continue;
    ({ claim: claims, beat: beats, end: ends })[place.kind].set(place.n, oid);
  }
  const n = currentOf(new Set(claims.keys()));
  const textOf = async (oid = ''): Promise<string> =>
    (oid === '' ? undefined : (await objects.read(oid))?.content)?.toString('utf8') ?? '';
  const endOf = async (at: number): Promise<ClaimEnd | undefined> => {
    const oid = ends.get(at);
    const parsed = oid === undefined ? undefined : parseEnd(await textOf(oid));
    return parsed?.ok === true ? parsed.value : undefined;
  };
  let attempts = 0;
  for (let at = 1; at <= n; at++) {
    const end = at < n || ends.has(at) ? await endOf(at) : undefined;
    const isOver = at < n || end !== undefined;
    if (isOver && (end === undefined || end.attempted === true)) attempts++;
  }
  let over: ClaimEnd | undefined;
  for (const at of [...ends.keys()].sort((a, b) => a - b)) {
    const end = await endOf(at);
    if (end !== undefined && isLastWord(end.end)) over = end;
  }
  if (n === 0 && over === undefined) return undefined;
  const claim = parseClaim(await textOf(claims.get(n)));
  const beat = beats.has(n) ? parseBeat(await textOf(beats.get(n))) : undefined;
  const end = await endOf(n);
  return {
    n,
    claim: claim.ok ? claim.value : UNREADABLE,
    oids: Array.from({ length: n }, (_, index) => claims.get(index + 1) ?? ''),
    ...(beat?.ok === true && { beat: beat.value }),
    beatOid: beats.get(n) ?? null,
    ...(end !== undefined && { end }),
    ...(over !== undefined && { over }),
    endOid: ends.get(n) ?? null,
    attempts,
  };
}

/** Whether the hosts that serve an actor share its work, so that one of them takes each task. */
export async function isPool(
  { objects }: Pick<Transport, 'objects'>,
  commit: string,
  actor: string,
): Promise<boolean> {
  for (const path of profileFiles(actor)) {
    const text = await objects.text(commit, path);
    const profile = text === undefined ? undefined : parseProfile(text, actor);
    if (profile?.ok === true) return profile.value.serve === 'one';
  }
  return false;
}

/** Number of paths that one git process looks for. */
const AT_A_TIME = 500;

/**
 * Finds the commits that added messages. It runs git once for each {@link AT_A_TIME} of them.
 *
 * @returns by path; of a message that was added again, the newest one
 */
async function addedBy(
  transport: Transport,
  tip: string,
  paths: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let at = 0; at < paths.length; at += AT_A_TIME) {
    const some = paths.slice(at, at + AT_A_TIME);
    const find = ['log', '--diff-filter=A', '--no-renames', '--name-only', '--format=:%H', tip];
    let commit = '';
    for (const line of (await transport.git([...find, '--', ...some])).split('\n'))
      if (line.startsWith(':')) commit = line.slice(1);
      else if (line !== '' && !found.has(line)) found.set(line, commit);
  }
  return found;
}

/** A message as far as it says who takes it. */
interface Contended extends Claimed {
  /** Whether the message itself asks for one host. */
  isOne: boolean;
}

/**
 * Returns the hosts that contend for messages by the trees of the commits that added them (pools.md): later changes
 * count for later messages, so all hosts find the same.
 *
 * @returns in the order of the messages, as {@link contendersAt} does
 */
export async function contendersFor(
  transport: Transport,
  tip: string,
  messages: readonly Contended[],
): Promise<(string[] | undefined)[]> {
  const pathOf = ({ channel, relPath }: Claimed): string => messageFile(channel, relPath);
  const added = await addedBy(transport, tip, messages.map(pathOf));
  const known = new Map<string, Promise<string[] | undefined>>();
  return Promise.all(
    messages.map((one) => {
      const commit = added.get(pathOf(one)) ?? tip;
      const key = `${commit} ${one.actor} ${String(one.isOne)}`;
      const found = known.get(key) ?? contendersAt(transport, commit, one.actor, one);
      known.set(key, found);
      return found;
    }),
  );
}

/**
 * Returns the hosts that contend for messages to an actor that a commit adds.
 *
 * @param options `isOne`: whether the message itself asks for one host
 * @returns undefined where each host that serves the actor runs it; empty if no host served the actor then, so
 *   that any may
 */
export async function contendersAt(
  transport: Transport,
  commit: string,
  actor: string,
  { isOne }: { isOne: boolean },
): Promise<string[] | undefined> {
  if (!isOne && !(await isPool(transport, commit, actor))) return undefined;
  return (await readHosts(transport, commit)).flatMap(({ result }) =>
    result.ok && result.value.actors.has(actor) ? [result.value.alias] : [],
  );
}
