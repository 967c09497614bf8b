import { CLAIMS, isChannelId, isName, isRelPath, type MessageRef } from './layout.ts';
import type { Requirement } from './outgoing.ts';
import { parseDocumentText, formatDocument, type HeaderFields } from './text/frontmatter.ts';
import { parsed, unreadable, type Parsed } from './text/result.ts';
import { utcOf } from './text/times.ts';

/*
 * Claims (pools.md): by a claim exactly one of several hosts takes a message. A claim is a file that never changes,
 * so that `git push` decides who has it; its beat beside it is replaced, and its end settles it.
 */

/** A message in the mailbox of an actor: what a claim is for. */
export interface Claimed extends MessageRef {
  actor: string;
}

/** Host that has taken a message, for one attempt. */
export interface Claim {
  /** Alias of the host. */
  host: string;
  /** Names this attempt: the start of the dispatcher, then a ULID, joined by a dot. */
  run: string;
  /** Milliseconds after the last beat at which others may take over. */
  lease: number;
  /** When it was written, as ISO 8601 in UTC by the clock of its host; for people only. */
  at: string;
}

/** Sign of life of the host that has a claim. */
export interface Beat {
  run: string;
  /** Milliseconds until the next one is due, if it differs from the claim's: while the thread waits for others. */
  lease?: number;
  /** Set while nothing runs and the thread waits for others: only its own host goes on with it. */
  waits?: true;
  at: string;
}

/** The ways in which a claim ends. All but `released` are the last word about the message. */
const CLAIM_ENDS = ['answered', 'silent', 'failed', 'cancelled', 'held', 'released'] as const;
export type ClaimEnding = (typeof CLAIM_ENDS)[number];

/** Whether only a person can have a message tried again. */
export function isLastWord(end: ClaimEnding): boolean {
  return end !== 'released';
}

/** Whether a person can have a message tried again. */
export function mayBeRetried(end: ClaimEnding): boolean {
  return end === 'failed' || end === 'held';
}

/** End of a claim. */
export interface ClaimEnd {
  end: ClaimEnding;
  run: string;
  at: string;
  /** Of a released one: whether something ran, so that it counts as an attempt. */
  attempted?: true;
  /** Of a released one: not to be taken before, as ISO 8601 in UTC. */
  notBefore?: string;
}

/** Largest number of a claim that is read; each takes a lease or a failed run. */
const MAX_CLAIMS = 1000;
/** Shortest and longest lease that counts, in milliseconds, whatever a file says. */
export const MIN_LEASE_MS = 1000;
export const MAX_LEASE_MS = 24 * 3_600_000;

/** Returns the folder of the claims of a message. */
export function claimFolder({ channel, relPath, actor }: Claimed): string {
  return `${CLAIMS}/${channel}/${relPath}/${actor}`;
}

export const claimFile = (of: Claimed, n: number): string => `${claimFolder(of)}/${String(n)}.md`;
export const beatFile = (of: Claimed, n: number): string =>
  `${claimFolder(of)}/${String(n)}.beat.md`;
export const endFile = (of: Claimed, n: number): string => `${claimFolder(of)}/${String(n)}.end.md`;

/** A claim with those before it. */
export interface Fenced extends Claimed {
  n: number;
  /** Object ids of the claims 1…n. */
  oids: readonly string[];
}

/**
 * Returns the conditions on what a run publishes (pools.md, the fence): its claim is the current one, and has no end.
 * A history that was set back may have lost the claim; then no other may stand in its place.
 */
export function fenceOf(claims: readonly Fenced[]): Requirement[] {
  return claims.flatMap((of) => [
    ...of.oids.map((oid, index) => ({
      path: claimFile(of, index + 1),
      oid,
      orAbsent: true as const,
    })),
    { path: claimFile(of, of.n + 1), oid: null },
    { path: endFile(of, of.n), oid: null },
  ]);
}

/** A file of a claim, by its path. */
export interface ClaimPlace extends Claimed {
  n: number;
  kind: 'claim' | 'beat' | 'end';
}

const INSIDE = /^data\/claims\/([^/]+)\/(.+\.md)\/([^/]+)\/([1-9]\d{0,3})(\.beat|\.end)?\.md$/;

/** Returns what a path in the folder of claims is for; undefined for any other. */
export function claimPlace(path: string): ClaimPlace | undefined {
  const [, channel, relPath, actor, digits, kind] = INSIDE.exec(path) ?? [];
  if (!isChannelId(channel) || !isRelPath(relPath) || !isName(actor)) return undefined;
  const n = Number(digits);
  if (n > MAX_CLAIMS) return undefined;
  return { channel, relPath, actor, n, kind: kindOf(kind) };
}

function kindOf(suffix: string | undefined): ClaimPlace['kind'] {
  return suffix === '.beat' ? 'beat' : suffix === '.end' ? 'end' : 'claim';
}

/** Returns the number of the current claim: the highest n for which 1…n stand; 0 for none. */
export function currentOf(numbers: ReadonlySet<number>): number {
  let n = 0;
  while (n < MAX_CLAIMS && numbers.has(n + 1)) n++;
  return n;
}

/** Formats a claim; {@link parseClaim} reads it. */
export function formatClaim({ host, run, lease, at }: Claim): string {
  return formatDocument({ host, run, lease: seconds(lease), at }, '');
}

export function parseClaim(text: string): Parsed<Claim> {
  return read(text, (fields) => {
    const { host } = fields;
    const lease = millisecondsOf(fields['lease']);
    if (!isName(host) || lease === undefined) return undefined;
    return { host, lease, ...runOf(fields) };
  });
}

export function formatBeat({ run, lease, waits, at }: Beat): string {
  return formatDocument(
    {
      run,
      at,
      ...(lease !== undefined && { lease: seconds(lease) }),
      ...(waits === true && { waits: 'true' }),
    },
    '',
  );
}

export function parseBeat(text: string): Parsed<Beat> {
  return read(text, (fields) => {
    const lease = millisecondsOf(fields['lease']);
    const waits = fields['waits'] === 'true' && { waits: true as const };
    return { ...runOf(fields), ...(lease !== undefined && { lease }), ...waits };
  });
}

export function formatEnd({ end, run, at, attempted, notBefore }: ClaimEnd): string {
  return formatDocument(
    {
      end,
      run,
      at,
      ...(attempted === true && { attempted: 'true' }),
      ...(notBefore !== undefined && { not_before: notBefore }),
    },
    '',
  );
}

export function parseEnd(text: string): Parsed<ClaimEnd> {
  return read(text, (fields) => {
    const end = CLAIM_ENDS.find((one) => one === fields['end']);
    if (end === undefined) return undefined;
    const notBefore = utcOf(fields['not_before']);
    return {
      end,
      ...runOf(fields),
      ...(fields['attempted'] === 'true' && { attempted: true as const }),
      ...(notBefore !== undefined && { notBefore }),
    };
  });
}

/** Run ids of other programs are kept as they are, if they are short plain words. */
const RUN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

function runOf({ run, at }: HeaderFields): { run: string; at: string } {
  return {
    run: typeof run === 'string' && RUN.test(run) ? run : '',
    at: utcOf(at) ?? '',
  };
}

function read<T>(text: string, valueOf: (fields: HeaderFields) => T | undefined): Parsed<T> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const value = valueOf(document.value.fields);
  return value === undefined ? unreadable('it is not in the form of a claim') : parsed(value);
}

function seconds(ms: number): string {
  return String(Math.round(ms / 1000));
}

/** Returns the milliseconds of a lease in seconds, within what counts; undefined if it is none. */
function millisecondsOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) return undefined;
  return Math.min(Math.max(1000 * Number(text), MIN_LEASE_MS), MAX_LEASE_MS);
}
