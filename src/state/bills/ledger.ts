import { appendFile, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Emitter } from '../../emitter.ts';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import type { CountedFor } from '../../protocol/automation/counted-for.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { isRecord, isTime } from '../files.ts';
import type { SessionKind } from '../../protocol/files/tier-session.ts';
import type { Handed, Usage } from '../../protocol/usage.ts';

/** How a run ended: `interrupted` when its dispatcher died. */
export type RunEnding = 'answered' | 'silent' | 'failed' | 'stopped' | 'refused' | 'interrupted';

/** One run, as the bill has it (bills.md). Stored and shown under these names. */
export interface LedgerLine extends CountedFor {
  /** When it began, in ISO form, UTC. */
  at: string;
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  channel: string;
  tier: string;
  /** The first message of the thread. */
  thread: MessageRef;
  ended: RunEnding;
  /** The code of a failure. */
  reason?: string;
  /** The known agent CLI whose output was read; of any other command nothing is known. */
  agent?: string;
  /** Whether it went on with a session; absent where its tier keeps none. */
  session?: SessionKind;
  /** Milliseconds. */
  ms: number;
  /** Absent when its CLI states none. */
  usage?: Usage;
  /** What it was handed; absent where no budget was in force. */
  handed?: Handed;
  /** Set where it ended before it stated all that it used: it counts as what it was handed, if that is more. */
  presumed?: true;
}

const MONTH = /^(\d{4}-\d{2})\.jsonl$/;

/**
 * Every run of this machine, a file for each month. A run that is made again after a crash was paid
 * twice, and has two lines.
 */
export class Ledger {
  readonly folder: string;
  /** `line`: a run was added, whether or not the disk takes it. */
  readonly events = new Emitter<{ line: [LedgerLine] }>();
  #latest: string | undefined;
  #unwritten: LedgerLine[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Adds a line. A disk that is full must not hold up an answer, so what it does not take is kept and
   * written by the next {@link flush}, or with the next line.
   *
   * @throws what kept the line from the disk
   */
  add(line: LedgerLine): Promise<void> {
    this.events.emit('line', line);
    return this.#write(line);
  }

  /** Writes what the disk did not take before; @throws what keeps it from the disk. */
  flush(): Promise<void> {
    return this.#unwritten.length === 0 ? this.#writing : this.#write();
  }

  #write(line?: LedgerLine): Promise<void> {
    const write = async (): Promise<void> => {
      if (line !== undefined) this.#unwritten.push(line);
      await makeFolder(this.folder, 0o700);
      for (let [first] = this.#unwritten; first !== undefined; [first] = this.#unwritten) {
        // What was cut off before must not spoil this one.
        const text = `\n${JSON.stringify(first)}\n`;
        await appendFile(this.#path(await this.#monthFor(first)), text, { mode: 0o600 });
        this.#unwritten.shift();
      }
    };
    const written = this.#writing.then(write, write);
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** The month of a line; after the clock was set back, the last one of which there are lines. */
  async #monthFor({ at }: LedgerLine): Promise<string> {
    const month = at.slice(0, 7);
    this.#latest ??= (await this.months()).at(-1) ?? month;
    if (month > this.#latest) this.#latest = month;
    return this.#latest;
  }

  /** The lines that the disk has not taken. */
  get unwritten(): readonly LedgerLine[] {
    return this.#unwritten;
  }

  /** Whether a run that began at this time has its line. */
  async has(id: string, at: string): Promise<boolean> {
    for (const month of await this.months())
      if (month >= at.slice(0, 7) && (await this.text(month)).includes(`"id":"${id}"`)) return true;
    return false;
  }

  /** The months of which there are lines, such as `2026-11`, oldest first. */
  async months(): Promise<string[]> {
    const names = await readdir(this.folder).catch((error: unknown) => {
      // A ledger that cannot be read is not an empty one: a budget would take it for unspent.
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    return names.flatMap((name) => MONTH.exec(name)?.[1] ?? []).sort();
  }

  /** The lines of a month, as they are on disk. */
  async text(month: string): Promise<string> {
    try {
      return await readFile(this.#path(month), 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return '';
      throw error;
    }
  }

  /**
   * The lines in the file of a month that are of one day (UTC). A month has many, so only those are
   * parsed that stand between the first one of the day and the last one.
   */
  async linesOf(month: string, day: string): Promise<LedgerLine[]> {
    const content = await readFile(this.#path(month));
    const begins = `{"at":"${day}`;
    const first = content.indexOf(begins);
    if (first < 0) return [];
    const after = content.indexOf('\n', content.lastIndexOf(begins));
    const text = content.subarray(first, after < 0 ? undefined : after).toString('utf8');
    return linesIn(text).filter(({ at }) => at.startsWith(day));
  }

  #path(month: string): string {
    return join(this.folder, `${month}.jsonl`);
  }
}

/** The runs in a text of the ledger; a line that a crash cut off, or that is none of ours, is passed over. */
export function linesIn(text: string): LedgerLine[] {
  return text.split('\n').flatMap((line) => {
    if (line === '') return [];
    try {
      return lineIn(JSON.parse(line)) ?? [];
    } catch {
      return [];
    }
  });
}

const NAMES = ['id', 'actor', 'host', 'channel', 'tier', 'ended'] as const;

/** Budgets and sums are made of these lines, so one that is damaged must not spoil all the others. */
function lineIn(value: unknown): LedgerLine | undefined {
  if (!isRecord(value)) return undefined;
  const { at, ms, thread, usage, handed } = value;
  const isWhole =
    isTime(at) &&
    isCount(ms) &&
    isRecord(thread) &&
    NAMES.every((name) => typeof value[name] === 'string') &&
    typeof thread['channel'] === 'string' &&
    typeof thread['relPath'] === 'string';
  if (!isWhole) return undefined;
  // The run was made, whatever is left of what it stated.
  const run = { ...value } as unknown as LedgerLine;
  if (usage !== undefined && !isUsage(usage)) delete run.usage;
  if (!isHanded(handed)) delete run.handed;
  if (!isTexts(value['skills'])) delete run.skills;
  if (typeof value['subscription'] !== 'string') delete run.subscription;
  return run;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isUsage(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { input, cached, output, usd = 0 } = value;
  return isCount(input) && isCount(cached) && isCount(output) && isCount(usd);
}

function isHanded(value: unknown): boolean {
  return isRecord(value) && isCount(value['usd'] ?? 0) && isCount(value['tokens'] ?? 0);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
