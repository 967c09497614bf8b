import { Cell } from '../../store/rows.ts';
import { Seal } from '../../store/seal.ts';

/** The outcome of an occurrence: sent, or the reason why not. */
export type Occurred = 'sent' | 'missed' | 'unanswered' | 'refused';

/** This machine's record of a schedule. Stored under these names; times are ISO 8601 in UTC. */
export interface ScheduleRecord {
  /** The text of the file that is in force. */
  text: string;
  /** First time that text was seen on the bus, by the clock of this machine: nothing is due before. */
  since: string;
  /** Time of the last commit of its file, by the clock of the committer. */
  committed: string;
  /** Time when this machine took the schedule over. */
  taken: string;
  /** The last occurrence that was handled, sent or not. */
  last?: string;
  outcome?: Occurred;
  /** The last message that was sent, as `<channel id>/<relPath>`. */
  sent?: string;
}

/** Records of the schedules that this machine fires, in the state directory. */
export class ScheduleRecords {
  readonly #records: Cell<Record<string, ScheduleRecord>>;
  readonly #names: Seal;

  /** @param root the state directory */
  constructor(root: string) {
    this.#records = new Cell(root, 'schedules');
    this.#names = new Seal(root, 'occurrence');
  }

  /** Loads the records by name; without a record, occurrences are looked up on the bus again. */
  async load(): Promise<Map<string, ScheduleRecord>> {
    return new Map(Object.entries((await this.#records.get()) ?? {}));
  }

  save(records: ReadonlyMap<string, ScheduleRecord>): Promise<void> {
    return this.#records.set(Object.fromEntries(records));
  }

  /**
   * Returns the suffix for the message of an occurrence. It is the same at any time and for any process
   * of this machine, also after a restore of its state, and nobody else can use it before.
   *
   * @param due ISO 8601 in UTC
   */
  suffixOf(schedule: string, due: string): string {
    const name = Buffer.from(this.#names.name(schedule, due), 'base64url');
    return name.toString('hex').slice(0, 16);
  }
}

/** The progress of the search for answers of other hosts. Stored under these names. */
export interface Looked {
  /** The commit up to which it was done. */
  until: string;
  /** The subscriptions for which it was done. */
  names: string[];
}

/** This machine's record of the subscriptions that it fires for other hosts. */
export class SubscriptionRecord extends Cell<Looked> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'subscriptions');
  }
}
