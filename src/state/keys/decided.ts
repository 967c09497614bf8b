import { createHash } from 'node:crypto';
import { placeOf } from '../../protocol/layout.ts';
import { Lines } from '../../store/lines.ts';
import { Seal } from '../../store/seal.ts';

/** The decisions that are remembered. */
const MOST = 20_000;

/** A file of a message. */
interface File {
  /** Its path in the transport. */
  path: string;
  content: string;
}

/**
 * Which decisions people have made on this machine (decision 46). Only the process of such a person adds to
 * it, never a dispatcher: so nothing that a run hands to one, in whatever way, gets on this record. A
 * crash between this record and the outbox leaves a decision on record that was never written, which
 * nobody can make use of: it is known by its whole text.
 */
export class Decided {
  readonly #lines: Lines<{ of: string }>;
  readonly #seal: Seal;

  /** @param root the state directory */
  constructor(root: string) {
    this.#lines = new Lines(root, 'decided', MOST);
    this.#seal = new Seal(root, 'decided');
  }

  /** Called before they are put into the outbox. */
  async note(files: readonly File[]): Promise<void> {
    const messages = files.filter(({ path }) => placeOf(path).kind === 'message');
    await this.#lines.add(messages.map((file) => ({ of: this.#seal.name(nameOfDecision(file)) })));
  }

  /** @returns tells of a file whether it is on record */
  async look(): Promise<(file: File) => boolean> {
    const isKnown = await this.lookForNames();
    return (file) => isKnown(nameOfDecision(file));
  }

  /** @returns tells of a file by its {@link nameOfDecision} whether it is on record */
  async lookForNames(): Promise<(name: string) => boolean> {
    const known = new Set((await this.#lines.all()).map(({ of }) => of));
    return (name) => known.has(this.#seal.name(name));
  }
}

/** By what a file is known on the record. */
export function nameOfDecision({ path, content }: File): string {
  const digest = createHash('sha256').update(JSON.stringify([path, content]));
  return digest.digest('base64url');
}
