import { createHash } from 'node:crypto';
import { JsonLines } from '../json-lines.ts';

/** Bytes; a verdict has some 110, and the older half is forgotten beyond it. */
const MAX_BYTES = 4 * 1024 * 1024;

/** A file at its place, and the key by which it says it was signed. */
export interface Question {
  /** Where it is, with the identity of its transport. */
  place: string;
  /** Of git. */
  oid: string;
  /** The public key, in base64. */
  key: string;
}

/**
 * What `ssh-keygen` has said of files, so that it is asked once. An object's id stands for its bytes,
 * so a verdict holds as long as the file exists, whoever is pinned by then.
 */
export class Verdicts {
  readonly #lines: JsonLines;
  #known: Promise<Map<string, boolean>> | undefined;

  constructor(path: string) {
    this.#lines = new JsonLines(path, MAX_BYTES);
  }

  async get(question: Question): Promise<boolean | undefined> {
    this.#known ??= this.#load();
    return (await this.#known).get(nameOf(question));
  }

  /** Keeps verdicts; where the disk does not take them, they are found again. */
  async add(found: readonly (Question & { good: boolean })[]): Promise<void> {
    const named = found.map((one) => ({ of: nameOf(one), good: one.good }));
    const known = await (this.#known ??= this.#load());
    for (const { of, good } of named) known.set(of, good);
    await this.#lines.add(named).catch(() => undefined);
  }

  async #load(): Promise<Map<string, boolean>> {
    const lines = await this.#lines.all().catch(() => []);
    return new Map(
      lines.flatMap(({ of, good }) =>
        typeof of === 'string' && typeof good === 'boolean' ? [[of, good] as const] : [],
      ),
    );
  }
}

function nameOf({ place, oid, key }: Question): string {
  const digest = createHash('sha256').update(JSON.stringify([place, oid, key]));
  return digest.digest('base64url');
}
