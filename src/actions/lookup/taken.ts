import type { WebClaim } from '../../api/messages.ts';
import type { WebTaken } from '../../api/now.ts';
import { CLAIMS } from '../../protocol/layout.ts';
import { claimsAt } from '../../bus/claims.ts';
import {
  claimFolder,
  claimPlace,
  currentOf,
  isLastWord,
  mayBeRetried,
  parseClaim,
  parseEnd,
  type Claimed,
  type ClaimEnd,
} from '../../protocol/claim.ts';
import type { Serving } from '../../protocol/owed.ts';
import type { Transport } from '../../transport/transport.ts';

type Reading = Pick<Transport, 'objects' | 'list'>;

/** The last commit of each transport that was looked at, and whether it has a folder of claims. */
const looked = new WeakMap<object, { tip: string; has: Promise<boolean> }>();

/** Whether anybody has ever claimed anything: one look for each commit, and none into the folder itself without it. */
export function hasClaims({ objects }: Pick<Transport, 'objects'>, tip: string): Promise<boolean> {
  const known = looked.get(objects);
  if (known?.tip === tip) return known.has;
  const has = objects.read(`${tip}:${CLAIMS}`).then((found) => found?.type === 'tree');
  looked.set(objects, { tip, has });
  // A look that failed is not the answer to the next one.
  has.catch(() => looked.delete(objects));
  return has;
}

/** Returns which host has taken a message for an actor; undefined where nobody has claimed it. */
export async function takenAt(
  transport: Reading,
  tip: string,
  of: Claimed,
): Promise<WebTaken | undefined> {
  if (!(await hasClaims(transport, tip))) return undefined;
  const claims = await claimsAt(transport, tip, of);
  if (claims === undefined) return undefined;
  const { claim, beat, over } = claims;
  // A person may have it tried again.
  const isOver = over !== undefined && !mayBeRetried(over.end);
  const end = isOver ? over : claims.end;
  // The beat of an attempt that was overtaken says nothing about this one.
  const waits = beat?.waits === true && beat.run === claim.run;
  return {
    ...{ host: claim.host, at: claim.at === '' ? null : claim.at },
    ...(waits && { waits: true as const }),
    ...(end && { end: end.end }),
    ...(end?.notBefore !== undefined && { not_before: end.notBefore }),
  };
}

/** Most claims of one message that are shown, the first ones: a try takes a lease, or a failed run. */
const MOST_CLAIMS = 20;

/** Returns all claims of a message, and what is wrong with them; none where the bus has no claims. */
export async function shownClaims(
  transport: Reading,
  tip: string,
  of: Claimed,
  serving: readonly Serving[],
): Promise<WebClaim[]> {
  if (!(await hasClaims(transport, tip))) return [];
  const oids = { claim: new Map<number, string>(), end: new Map<number, string>() };
  for (const { path, oid, type } of await transport.list(tip, [claimFolder(of)])) {
    const place = claimPlace(path);
    if (place === undefined || type !== 'blob' || place.kind === 'beat') continue;
    oids[place.kind].set(place.n, oid);
  }
  const current = currentOf(new Set(oids.claim.keys()));
  const numbers = [...new Set([...oids.claim.keys(), ...oids.end.keys()])].sort((a, b) => a - b);
  const textOf = async (oid: string | undefined): Promise<string | undefined> =>
    oid === undefined ? undefined : (await transport.objects.read(oid))?.content?.toString('utf8');
  const served = (host: string): boolean =>
    serving.some(({ alias, actors }) => alias === host && actors.includes(of.actor));
  const shown = numbers.slice(0, MOST_CLAIMS);
  const ends = new Map<number, ClaimEnd>();
  for (const n of shown) {
    const text = await textOf(oids.end.get(n));
    const end = text === undefined ? undefined : parseEnd(text);
    if (end?.ok === true) ends.set(n, end.value);
  }
  const isLast = (n: number): boolean => {
    const end = ends.get(n)?.end ?? 'released';
    return isLastWord(end) && !mayBeRetried(end);
  };
  const last = shown.find(isLast);
  return Promise.all(
    shown.map(async (n): Promise<WebClaim> => {
      const text = await textOf(oids.claim.get(n));
      const claim = text === undefined ? undefined : parseClaim(text);
      const [one, over] = [claim?.ok ? claim.value : undefined, ends.get(n)];
      const known = one !== undefined && served(one.host);
      const faults = [
        n > current && !isLast(n)
          ? `number ${String(n)} counts for nothing, as ${String(current + 1)} is missing`
          : '',
        last !== undefined && n > last && n <= current
          ? `it counts for nothing, as claim ${String(last)} has ended for good`
          : '',
        text !== undefined && one === undefined ? 'it cannot be read' : '',
        one !== undefined && !known ? `no host file says that ${one.host} serves ${of.actor}` : '',
        one !== undefined && over !== undefined && over.run !== one.run
          ? 'its end is by another run'
          : '',
      ];
      return {
        ...{
          n,
          host: one?.host ?? null,
          at: one === undefined || one.at === '' ? null : one.at,
          end: over?.end ?? null,
          known,
        },
        faults: faults.filter((fault) => fault !== ''),
      };
    }),
  );
}
