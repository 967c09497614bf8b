import { access } from 'node:fs/promises';
import { placeOf } from '../../protocol/layout.ts';
import { Lines } from '../../store/rows.ts';
import type { OutboxEntry } from '../outbox-entry.ts';
import { Seal } from '../../store/seal.ts';
import { statePaths } from '../state-paths.ts';

/** The messages that are remembered. */
const MOST = 40_000;

/**
 * Which messages this machine has written itself: runs sign nothing, but a machine knows its own words.
 * Kept only where keys are pinned, as nobody else asks. A crash between this record and the outbox
 * leaves a message on record that was never written, which nobody can make use of.
 */
export class Written {
  readonly #lines: Lines<{ of: string }>;
  readonly #pins: string;
  readonly #seal: Seal;

  /** @param root the state directory */
  constructor(root: string) {
    this.#lines = new Lines(root, 'written', MOST);
    this.#pins = statePaths(root).pins;
    this.#seal = new Seal(root, 'written');
  }

  /** Called before an entry is put into the outbox. */
  async note({ commits }: OutboxEntry): Promise<void> {
    const isPinning = await access(this.#pins).then(
      () => true,
      () => false,
    );
    if (!isPinning) return;
    const files = commits.flatMap((commit) => commit.files);
    const messages = files.filter(({ path }) => placeOf(path).kind === 'message');
    await this.#lines.add(
      messages.map(({ path, content }) => ({ of: this.#seal.name(path, content) })),
    );
  }

  /** @returns tells of a file, by its path in the transport and its text, whether it is on record */
  async look(): Promise<(path: string, text: string) => boolean> {
    const known = new Set((await this.#lines.all()).map(({ of }) => of));
    return (path, text) => known.has(this.#seal.name(path, text));
  }
}
