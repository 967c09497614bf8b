import { Cell } from '../../store/rows.ts';
import { Seal } from '../../store/seal.ts';

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

/** What this machine remembers of the schedules that it fires, in the state directory. */
export class ScheduleRecords {
  readonly #records: Cell<Record<string, ScheduleRecord>>;
  readonly #names: Seal;

  /** @param root the state directory */
  constructor(root: string) {
    this.#records = new Cell(root, 'schedules');
    this.#names = new Seal(root, 'occurrence');
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
   * this machine it is made, also with a state that was restored, and nobody else can take it before.
   *
   * @param due ISO 8601 in UTC
   */
  suffixOf(schedule: string, due: string): string {
    const name = Buffer.from(this.#names.name(schedule, due), 'base64url');
    return name.toString('hex').slice(0, 16);
  }
}
