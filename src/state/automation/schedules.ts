import { createHmac } from 'node:crypto';
import { Cell } from '../../store/rows.ts';

/** What became of an occurrence: sent, or why not. */
export type Occurred = 'sent' | 'missed' | 'unanswered' | 'refused';

/** What a machine remembers of a schedule. Stored under these names; times are ISO 8601 in UTC. */
export interface ScheduleRecord {
  /** The text of the file that is in force. */
  text: string;
  /** Since when that text is on the bus, by the clock of this machine: nothing is due before. */
  since: string;
  /** When its file was last written to the bus, by the clock of whoever did that. */
  committed: string;
  /** When this machine took it over. */
  taken: string;
  /** The last occurrence that was dealt with, as sent or not. */
  last?: string;
  outcome?: Occurred;
  /** The last message that was sent, as `<channel id>/<relPath>`. */
  sent?: string;
}

const KEY_BYTES = 32;

/** What this machine remembers of the schedules that it fires, in the state directory. */
export class ScheduleRecords {
  readonly #records: Cell<Record<string, ScheduleRecord>>;
  readonly #key: Cell<{ key: string }>;
  readonly #secret: (bytes: number) => string;

  /**
   * @param root the state directory
   * @param secret so many bytes that nobody can guess, in hex digits
   */
  constructor(root: string, secret: (bytes: number) => string) {
    this.#secret = secret;
    this.#records = new Cell(root, 'schedules');
    this.#key = new Cell(root, 'schedule-key');
  }

  /** By name; where none is known, occurrences are found on the bus again. */
  async load(): Promise<Map<string, ScheduleRecord>> {
    return new Map(Object.entries((await this.#records.get()) ?? {}));
  }

  save(records: ReadonlyMap<string, ScheduleRecord>): Promise<void> {
    return this.#records.set(Object.fromEntries(records));
  }

  /**
   * The suffix of the name of an occurrence's message. It is the same whenever and by whatever process of
   * this machine it is made, and nobody else can take it before.
   *
   * @param due ISO 8601 in UTC
   */
  async suffixOf(schedule: string, due: string): Promise<string> {
    const digest = createHmac('sha256', await this.#theKey()).update(`schedule ${schedule} ${due}`);
    return digest.digest('hex').slice(0, 16);
  }

  /** Made once, whoever asks first. */
  async #theKey(): Promise<string> {
    const known = await this.#key.get();
    if (known !== undefined) return known.key;
    const made = { key: this.#secret(KEY_BYTES) };
    return ((await this.#key.change((found) => found ?? made)) ?? made).key;
  }
}
