import { claimsAt } from '../../bus/claims.ts';
import {
  claimFile,
  claimFolder,
  claimPlace,
  endFile,
  parseEnd,
  type ClaimPlace,
} from '../../protocol/claim.ts';
import { placeOf, placeOfRef } from '../../protocol/layout.ts';
import { parseMessage } from '../../protocol/message.ts';
import type { QueuedFile, Requirement } from '../../protocol/outgoing.ts';
import type { Transport } from '../../transport/transport.ts';

/**
 * Ends of claims that a rewritten history has lost (pools.md, "Rewinds"): they come back with their answers, where no
 * other host has taken the message meanwhile.
 */
export class LostClaims {
  readonly #transport: Transport;
  readonly #from: string;
  /** Object ids of the ends, by path. */
  readonly #oids: ReadonlyMap<string, string>;
  /** The ends, by folder of claims. */
  readonly #ends = new Map<string, ClaimPlace>();

  /**
   * @param from the last commit of the lost history
   * @param lost the paths of files that are to come back
   * @param oids the names of their contents, by path
   */
  constructor(
    transport: Transport,
    from: string,
    lost: Iterable<string>,
    oids: ReadonlyMap<string, string>,
  ) {
    this.#transport = transport;
    this.#from = from;
    this.#oids = oids;
    for (const path of lost) {
      const place = claimPlace(path);
      if (place?.kind === 'end') this.#ends.set(claimFolder(place), place);
    }
  }

  /**
   * Returns the conditions on which a file comes back: undefined for one that no claim concerns, null for one that is
   * not needed any more.
   */
  async of({ path, content }: QueuedFile): Promise<Requirement[] | undefined | null> {
    if (this.#ends.size === 0) return undefined;
    const place = claimPlace(path);
    if (place !== undefined) {
      const end = parseEnd(content);
      // Whoever takes the message now begins anew.
      return end.ok && end.value.end === 'released' ? null : this.#fence(place);
    }
    const said = placeOf(path);
    const message = said.kind === 'message' ? parseMessage(Buffer.from(content)) : undefined;
    if (said.kind !== 'message' || message?.ok !== true) return undefined;
    const { from: actor, re } = message.value;
    const requires: Requirement[] = [];
    for (const ref of re) {
      const end = this.#ends.get(claimFolder({ actor, ...placeOfRef(said.channel, ref) }));
      if (end !== undefined) requires.push(...(await this.#fence(end)));
    }
    return requires.length === 0 ? undefined : requires;
  }

  async #fence(end: ClaimPlace): Promise<Requirement[]> {
    const { oids = [] } = (await claimsAt(this.#transport, this.#from, end)) ?? {};
    const path = endFile(end, end.n);
    return [
      ...oids.slice(0, end.n).map((oid, index) => ({
        path: claimFile(end, index + 1),
        oid,
        orAbsent: true as const,
      })),
      { path: claimFile(end, end.n + 1), oid: null },
      { path, oid: this.#oids.get(path) ?? null, orAbsent: true },
    ];
  }
}
