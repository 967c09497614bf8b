import { createHash } from 'node:crypto';
import { messageFile, placeOfRef } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import { placeSigned, publicKeyIn, signedIn, signerOf, type Signed } from '../protocol/signed.ts';
import { loadPins, type Pin } from '../state/keys/pins.ts';
import { CrosstalkError } from '../errors.ts';
import { verify, type Attempt } from '../state/keys/ssh-keygen.ts';
import { Verdicts, type Question } from '../state/keys/verdicts.ts';
import type { Transport } from '../transport/transport.ts';

/** A message that claims a writer. */
export interface Claim extends Pick<Located, 'relPath' | 'message'> {
  /** The id of its channel. */
  channel: string;
  /** The object that was read, if known; otherwise it is looked up at the commit. */
  oid?: string;
  /** Its file, if it waits in the outbox here instead of being on the bus. */
  queued?: string;
}

type VerifiedIn = Pick<Transport, 'objects' | 'identity'>;

/** Maximum number of concurrent `ssh-keygen` processes. */
const AT_A_TIME = 4;
/** Number of verdicts that are written to disk together; a killed process loses at most these. */
const TOGETHER = 100;
/** Number of objects up to which reading them is faster than starting a process that returns only their ids. */
const A_FEW = 50;

/** A signature to be verified, with the name and the key of its writer. */
interface Doubt extends Question {
  at: number;
  pin: Pin;
  signed: () => Promise<Signed | undefined>;
}

/**
 * A verifier of signatures of messages by their writers (docs/decisions/16-signatures.md), with the keys that are pinned on
 * this machine. Without pinned keys this costs a check of one file; for a writer without a pinned key,
 * nothing more. A process is started once for each file that is signed by a pinned key of its writer.
 */
export class Verifier {
  readonly #parts: { transport: VerifiedIn; pins: string; env: NodeJS.ProcessEnv };
  readonly #verdicts: Verdicts;
  #started = 0;

  constructor(parts: {
    transport: VerifiedIn;
    /** The file of the pinned keys. */
    pins: string;
    /** The state directory. */
    root: string;
    env: NodeJS.ProcessEnv;
  }) {
    this.#parts = parts;
    this.#verdicts = new Verdicts(parts.root);
  }

  /** Number of processes started. */
  get started(): number {
    return this.#started;
  }

  /**
   * @param commit at which the messages were read
   * @param options `sure`: throws when the result is unknown, for example without `ssh-keygen`, instead
   *   of treating the message as unsigned
   * @returns for each message whether its writer has signed it; undefined when no key of that name is
   *   pinned
   * @throws CrosstalkError `invalid` when the pinned keys cannot be read; `refused` with `sure`
   */
  async verdicts(
    commit: string,
    claims: readonly Claim[],
    { sure = false }: { sure?: boolean } = {},
  ): Promise<(boolean | undefined)[]> {
    const pins = claims.length === 0 ? [] : await loadPins(this.#parts.pins);
    if (pins.length === 0) return claims.map(() => undefined);
    const names = new Set(pins.map(({ name }) => name));
    const found = claims.map(({ message }): boolean | undefined =>
      names.has(message.from) ? false : undefined,
    );
    const doubts: Doubt[] = [];
    const signed = claims.flatMap((claim, at) => {
      const pin = pinOf(pins, claim);
      return pin === undefined ? [] : [{ claim, at, pin }];
    });
    if (signed.length === 0) return found;
    const identity = await this.#parts.transport.identity();
    const oids = await this.#oids(
      commit,
      signed.map(({ claim }) => claim),
    );
    for (const [index, { claim, at, pin }] of signed.entries()) {
      const { oid, text } = oids[index] ?? {};
      if (oid === undefined) continue;
      const place = placeSigned(identity, claim);
      const question = { place, oid, key: keyOf(pin) };
      const known = await this.#verdicts.get(question);
      if (known !== undefined) found[at] = known;
      else
        doubts.push({
          ...question,
          at,
          pin,
          signed: async () => {
            const file = text ?? (await this.#textOf(oid));
            const taken = file === undefined ? undefined : signedIn(place, file);
            return taken?.sig === claim.message.sig ? taken : undefined;
          },
        });
    }
    const unsure = await this.#settle(doubts, found);
    if (unsure !== undefined && sure)
      throw new CrosstalkError('refused', `signatures cannot be verified: ${unsure}`);
    return found;
  }

  /** @returns the reason why the result for one of them is unknown */
  async #settle(
    doubts: readonly Doubt[],
    found: (boolean | undefined)[],
  ): Promise<string | undefined> {
    let unsure: string | undefined;
    let kept: (Question & { good: boolean })[] = [];
    for (let from = 0; from < doubts.length; from += AT_A_TIME) {
      const some = doubts.slice(from, from + AT_A_TIME);
      const settled = await Promise.all(some.map((doubt) => this.#verify(doubt)));
      for (const [index, { at, place, oid, key }] of some.entries()) {
        const said = settled[index];
        if (said?.ok === false) unsure = said.why;
        if (said?.ok !== true) continue;
        found[at] = said.value;
        kept.push({ place, oid, key, good: said.value });
      }
      if (kept.length < TOGETHER && from + AT_A_TIME < doubts.length) continue;
      await this.#verdicts.add(kept);
      kept = [];
    }
    return unsure;
  }

  async #verify({ pin, signed }: Doubt): Promise<Attempt<boolean>> {
    const taken = await signed();
    if (taken === undefined) return { ok: true, value: false };
    this.#started++;
    const { name, key } = pin;
    return verify({ ...taken, key, name }, this.#parts.env);
  }

  async #oids(
    commit: string,
    claims: readonly Claim[],
  ): Promise<{ oid?: string | undefined; text?: string }[]> {
    const waiting = claims.filter(({ queued, oid }) => queued === undefined && oid === undefined);
    const names = waiting.map(
      ({ channel, relPath }) => `${commit}:${messageFile(channel, relPath)}`,
    );
    const ids = await this.#idsOf(names);
    const onBus = new Map(waiting.map((claim, at) => [claim, ids[at]]));
    return claims.map((claim) => {
      const { queued } = claim;
      if (queued === undefined) return { oid: claim.oid ?? onBus.get(claim) };
      return { oid: createHash('sha256').update(queued).digest('hex'), text: queued };
    });
  }

  /** Returns the ids of objects. A few are read with their content, by the process that is open anyway. */
  async #idsOf(names: readonly string[]): Promise<(string | undefined)[]> {
    const { objects } = this.#parts.transport;
    if (names.length > A_FEW) return objects.ids(names);
    return Promise.all(names.map(async (name) => (await objects.read(name))?.oid));
  }

  async #textOf(oid: string): Promise<string | undefined> {
    const object = await this.#parts.transport.objects.read(oid);
    return object?.content?.toString('utf8');
  }
}

/** Returns the pinned key of its writer by which a message claims to be signed. */
function pinOf(pins: readonly Pin[], { message: { from, sig } }: Claim): Pin | undefined {
  const signer = sig === undefined ? undefined : signerOf(sig);
  if (signer === undefined) return undefined;
  return pins.find((pin) => pin.name === from && keyOf(pin) === signer);
}

function keyOf({ key }: Pin): string {
  return publicKeyIn(key)?.key ?? '';
}

/**
 * Removes cancellations in a pinned name that their writer has not signed, or whose signature cannot be
 * verified now: they cancel nothing. A cancellation by an actor names its host, and is not signed.
 *
 * @param found named as they are seen from the channel `from`
 * @throws CrosstalkError `invalid` when the pinned keys cannot be read
 */
export async function withoutForgedCancels<T extends Located>(
  verifier: Pick<Verifier, 'verdicts'>,
  { tip, from }: { tip: string; from: string },
  found: readonly T[],
): Promise<readonly T[]> {
  const cancels = found.filter(
    ({ message }) => message.cancels !== undefined && message.host === undefined,
  );
  const claims = cancels.map(({ relPath, message }) => ({ ...placeOfRef(from, relPath), message }));
  const verdicts = await verifier.verdicts(tip, claims);
  const forged = new Set(cancels.filter((_, at) => verdicts[at] === false));
  return forged.size === 0 ? found : found.filter((one) => !forged.has(one));
}
