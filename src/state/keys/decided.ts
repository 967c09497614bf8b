import { createHash } from 'node:crypto';
import { placeOf } from '../../protocol/layout.ts';
import { Lines } from '../../store/lines.ts';
import { Seal } from '../../store/seal.ts';

/** Maximum number of decisions that are remembered. */
const MOST = 20_000;

/** A file of a message. */
interface File {
  /** Its path in the transport. */
  path: string;
  content: string;
}

/**
 * The record of the decisions that people have made on this machine (docs/decisions/15-gates.md). Only the process of
 * such a person adds to it, never a dispatcher: so nothing that a run passes to a dispatcher, in any way,
 * gets on this record. A crash between this record and the outbox leaves a decision on record that was
 * never written, which nobody can use: it is identified by its whole text.
 */
export class Decided {
  readonly #lines: Lines<{ of: string }>;
  readonly #seal: Seal;

  /** @param root the state directory */
  constructor(root: string) {
    this.#lines = new Lines(root, 'decided', MOST);
    this.#seal = new Seal(root, 'decided');
  }

  /** Records decisions before they are put into the outbox. */
  async note(files: readonly File[]): Promise<void> {
    const messages = files.filter(({ path }) => placeOf(path).kind === 'message');
    await this.#lines.add(messages.map((file) => ({ of: this.#seal.name(nameOfDecision(file)) })));
  }

  /** @returns a function that returns whether a file is on record */
  async look(): Promise<(file: File) => boolean> {
    const isKnown = await this.lookForNames();
    return (file) => isKnown(nameOfDecision(file));
  }

  /** @returns a function that returns whether a file with this {@link nameOfDecision} is on record */
  async lookForNames(): Promise<(name: string) => boolean> {
    const known = new Set((await this.#lines.all()).map(({ of }) => of));
    return (name) => known.has(this.#seal.name(name));
  }
}

/** Returns the name of a file on the record. */
export function nameOfDecision({ path, content }: File): string {
  const digest = createHash('sha256').update(JSON.stringify([path, content]));
  return digest.digest('base64url');
}
