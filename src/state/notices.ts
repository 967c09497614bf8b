import { isRecord, JsonFolder } from './files.ts';

/** A dead letter of which its askers are still to be told. */
interface DueNotice {
  /** The dead letter's id. */
  id: string;
}

/**
 * What has to be told of failures: a file for each dead letter, written before the letter is and
 * removed once the notice is in the outbox. A letter of an older version has none.
 */
export class DueNotices {
  readonly #folder: JsonFolder<DueNotice>;
  /** Those whose letter is being written: what is on disk of it may be older. */
  readonly #early = new Set<string>();

  constructor(folder: string) {
    this.#folder = new JsonFolder(folder, parseDue);
  }

  /** Records that a letter has to be told, then writes it; until then the notice is not due. */
  async before(id: string, write: () => Promise<void>): Promise<void> {
    this.#early.add(id);
    try {
      await this.#folder.put({ id });
      await write();
    } finally {
      this.#early.delete(id);
    }
  }
  /** The ids of the dead letters, without those that are being written. */
  async all(): Promise<string[]> {
    if (await this.#folder.isEmpty()) return [];
    // Copied before the look, as a letter may be complete by the time it is over.
    const early = new Set(this.#early);
    const all = await this.#folder.all();
    return all.map(({ id }) => id).filter((id) => !early.has(id) && !this.#early.has(id));
  }
  remove(id: string): Promise<void> {
    return this.#folder.remove(id);
  }
}

function parseDue(value: unknown): DueNotice | undefined {
  return isRecord(value) && typeof value['id'] === 'string' ? { id: value['id'] } : undefined;
}
