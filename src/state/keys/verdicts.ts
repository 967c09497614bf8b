import { Lines } from '../../store/lines.ts';
import { Seal } from '../../store/seal.ts';

/** Maximum number of verdicts that are remembered. */
const MOST = 80_000;

/** A file at its place, and the key by which it claims to be signed. */
export interface Question {
  /** Its path, with the identity of its transport. */
  place: string;
  /** The object id in git. */
  oid: string;
  /** The public key, in base64. */
  key: string;
}

/**
 * The results of `ssh-keygen` for files, so that each is verified once. An object's id stands for its
 * bytes, so a verdict holds as long as the file exists, whoever is pinned by then.
 */
export class Verdicts {
  readonly #lines: Lines<{ of: string }>;
  readonly #seal: Seal;
  #known: Promise<Set<string>> | undefined;

  /** @param root the state directory */
  constructor(root: string) {
    this.#lines = new Lines(root, 'verdict', MOST);
    this.#seal = new Seal(root, 'verdict');
  }

  async get(question: Question): Promise<boolean | undefined> {
    const known = await (this.#known ??= this.#load());
    return [true, false].find((good) => known.has(this.#nameOf({ ...question, good })));
  }

  /** Stores verdicts; if they cannot be written, they are computed again later. */
  async add(found: readonly (Question & { good: boolean })[]): Promise<void> {
    const named = found.map((one) => ({ of: this.#nameOf(one) }));
    const known = await (this.#known ??= this.#load());
    for (const { of } of named) known.add(of);
    await this.#lines.add(named).catch(() => undefined);
  }

  async #load(): Promise<Set<string>> {
    const lines = await this.#lines.all().catch(() => []);
    return new Set(lines.map(({ of }) => of));
  }

  /** Returns the name of a verdict, which nobody can make without the key. */
  #nameOf({ place, oid, key, good }: Question & { good: boolean }): string {
    return this.#seal.name(place, oid, key, String(good));
  }
}
