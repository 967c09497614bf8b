import { createHash } from 'node:crypto';
import { messageFile } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import { placeOfRef } from '../protocol/reference.ts';
import { placeSigned, publicKeyIn, signedIn, signerOf, type Signed } from '../protocol/signed.ts';
import { loadPins, type Pin } from '../state/keys/pins.ts';
import { CrosstalkError } from '../errors.ts';
import { verify, type Attempt } from '../state/keys/ssh-keygen.ts';
import { Verdicts, type Question } from '../state/keys/verdicts.ts';
import type { Transport } from '../transport/transport.ts';

/** A message that says who wrote it. */
export interface Claim extends Pick<Located, 'relPath' | 'message'> {
  /** The id of its channel. */
  channel: string;
  /** The object that was read, if that is known; otherwise it is looked up at the commit. */
  oid?: string;
  /** Its file, if it waits in the outbox here instead of being on the bus. */
  queued?: string;
}

type VerifiedIn = Pick<Transport, 'objects' | 'identity'>;

/** Processes of `ssh-keygen` at a time. */
const AT_A_TIME = 4;
/** Verdicts that are written to disk together; so many are found again after a kill. */
const TOGETHER = 100;
/** So many objects are read faster than a process is started that tells only their ids. */
const A_FEW = 50;

/** What is to be verified, with the name and the key of its writer. */
interface Doubt extends Question {
  at: number;
  pin: Pin;
  signed: () => Promise<Signed | undefined>;
}

/**
 * Says of messages whether their writers have signed them (decision 42), by the keys that are pinned on
 * this machine. Where nothing is pinned this costs a look for one file; where the writer is not pinned,
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
    /** The file of what was verified before. */
    /** The state directory. */
    root: string;
    env: NodeJS.ProcessEnv;
  }) {
    this.#parts = parts;
    this.#verdicts = new Verdicts(parts.root);
  }

  /** How many processes were started. */
  get started(): number {
    return this.#started;
  }

  /**
   * @param commit at which the messages were read
   * @param options `sure`: throws where nobody can say, as without `ssh-keygen`, instead of taking the
   *   message for unsigned
   * @returns for each message whether its writer has signed it; undefined where no key of that name is
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

  /** @returns why nobody can say of one of them */
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

  /** A few are read with their content, by the process that is there anyway. */
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

/** The pinned key of its writer by which a message says it was signed. */
function pinOf(pins: readonly Pin[], { message: { from, sig } }: Claim): Pin | undefined {
  const signer = sig === undefined ? undefined : signerOf(sig);
  if (signer === undefined) return undefined;
  return pins.find((pin) => pin.name === from && keyOf(pin) === signer);
}

function keyOf({ key }: Pin): string {
  return publicKeyIn(key)?.key ?? '';
}

/**
 * Messages without the cancellations in a pinned name that their writer has not signed, or of which nobody can say so
 * now: they end nothing. What an actor takes back says its host, and is not signed.
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
