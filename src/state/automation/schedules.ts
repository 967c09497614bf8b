import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { isRecord, isTime, readJson, readSealed, writeDurably, writeSealed } from '../files.ts';

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

const FILE = 'schedules.json';
const KEY = 'schedules.key';
const KEY_BYTES = 32;

/** What this machine remembers of the schedules that it fires, in the state directory. */
export class ScheduleRecords {
  readonly #path: string;
  readonly #keyPath: string;

  readonly #secret: (bytes: number) => string;

  /** @param secret so many bytes that nobody can guess, in hex digits */
  constructor(folder: string, secret: (bytes: number) => string) {
    this.#secret = secret;
    this.#path = join(folder, FILE);
    this.#keyPath = join(folder, KEY);
  }

  /** By name; a file that is damaged counts as none, and occurrences are found on the bus again. */
  async load(): Promise<Map<string, ScheduleRecord>> {
    const { value } = (await readSealed(this.#path)) ?? {};
    const records = new Map<string, ScheduleRecord>();
    const kept = isRecord(value) ? value['schedules'] : undefined;
    for (const [name, one] of Object.entries(isRecord(kept) ? kept : {}))
      if (isScheduleRecord(one)) records.set(name, one);
    return records;
  }

  save(records: ReadonlyMap<string, ScheduleRecord>): Promise<void> {
    return writeSealed(this.#path, { schedules: Object.fromEntries(records) });
  }

  /**
   * The suffix of the name of an occurrence's message. It is the same whenever and by whatever process of
   * this machine it is made, and nobody else can take it before.
   *
   * @param due ISO 8601 in UTC
   */
  async suffixOf(schedule: string, due: string): Promise<string> {
    const digest = createHmac('sha256', await this.#key()).update(`schedule ${schedule} ${due}`);
    return digest.digest('hex').slice(0, 16);
  }

  async #key(): Promise<string> {
    const { value } = (await readJson(this.#keyPath)) ?? {};
    const key = isRecord(value) ? value['key'] : undefined;
    if (typeof key === 'string' && key.length === 2 * KEY_BYTES) return key;
    const made = this.#secret(KEY_BYTES);
    await writeDurably(this.#keyPath, `${JSON.stringify({ key: made })}\n`);
    return made;
  }
}

function isScheduleRecord(value: unknown): value is ScheduleRecord {
  if (!isRecord(value)) return false;
  const { text, since, committed, taken, last, outcome = 'sent', sent = '' } = value;
  return (
    typeof text === 'string' &&
    [since, committed, taken].every(isTime) &&
    (last === undefined || isTime(last)) &&
    ['sent', 'missed', 'unanswered', 'refused'].includes(outcome as string) &&
    typeof sent === 'string'
  );
}
