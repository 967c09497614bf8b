import { appendFile, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Emitter } from '../../emitter.ts';
import { hasCode } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import type { CountedFor } from '../../protocol/automation/fields.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { isRecord, isTime } from '../files.ts';
import type { SessionKind } from '../../protocol/files/tier-options.ts';
import type { Handed, Usage } from '../../protocol/usage.ts';

/** The end of a run: `interrupted` when its dispatcher died. */
export type RunEnding = 'answered' | 'silent' | 'failed' | 'stopped' | 'refused' | 'interrupted';

/** One run in the ledger (bills.md). Stored and shown under these names. */
export interface LedgerLine extends CountedFor {
  /** Start of the run, ISO 8601 UTC. */
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
  /** The known agent CLI whose output was read; absent for any other command. */
  agent?: string;
  /** Whether the run continued a session; absent when its tier keeps none. */
  session?: SessionKind;
  /** Milliseconds. */
  ms: number;
  /** Absent when its CLI reports none. */
  usage?: Usage;
  /** The amount reserved for the run; absent when no budget was in force. */
  handed?: Handed;
  /**
   * Set when the run ended before it reported all its usage: then it counts as the reserved amount, if
   * that is more.
   */
  presumed?: true;
}

const MONTH = /^(\d{4}-\d{2})\.jsonl$/;

/**
 * Every run of this machine, a file for each month. A run repeated after a crash was paid twice, and has
 * two lines.
 */
export class Ledger {
  readonly folder: string;
  /** `line`: a run was added, whether or not it could be written. */
  readonly events = new Emitter<{ line: [LedgerLine] }>();
  #latest: string | undefined;
  #unwritten: LedgerLine[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Adds a line. A full disk must not delay an answer, so a line that cannot be written is kept and
   * written by the next {@link flush}, or with the next line.
   *
   * @throws the error that prevented the write
   */
  add(line: LedgerLine): Promise<void> {
    this.events.emit('line', line);
    return this.#write(line);
  }

  /**
   * Writes the lines that could not be written before.
   *
   * @throws the error that prevents the write
   */
  flush(): Promise<void> {
    return this.#unwritten.length === 0 ? this.#writing : this.#write();
  }

  #write(line?: LedgerLine): Promise<void> {
    const write = async (): Promise<void> => {
      if (line !== undefined) this.#unwritten.push(line);
      await makeFolder(this.folder, 0o700);
      for (let [first] = this.#unwritten; first !== undefined; [first] = this.#unwritten) {
        // A line that was cut off before must not spoil this one.
        const text = `\n${JSON.stringify(first)}\n`;
        await appendFile(this.#path(await this.#monthFor(first)), text, { mode: 0o600 });
        this.#unwritten.shift();
      }
    };
    const written = this.#writing.then(write, write);
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** Returns the month of a line; after the clock was set back, the last month that has lines. */
  async #monthFor({ at }: LedgerLine): Promise<string> {
    const month = at.slice(0, 7);
    this.#latest ??= (await this.months()).at(-1) ?? month;
    if (month > this.#latest) this.#latest = month;
    return this.#latest;
  }

  /** The lines that could not be written yet. */
  get unwritten(): readonly LedgerLine[] {
    return this.#unwritten;
  }

  /** Whether a run that started at this time has its line. */
  async has(id: string, at: string): Promise<boolean> {
    for (const month of await this.months())
      if (month >= at.slice(0, 7) && (await this.text(month)).includes(`"id":"${id}"`)) return true;
    return false;
  }

  /** Lists the months that have lines, such as `2026-11`, oldest first. */
  async months(): Promise<string[]> {
    const names = await readdir(this.folder).catch((error: unknown) => {
      // A ledger that cannot be read is not an empty one: a budget would count as unspent.
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    return names.flatMap((name) => MONTH.exec(name)?.[1] ?? []).sort();
  }

  /** Reads the lines of a month, as they are on disk. */
  async text(month: string): Promise<string> {
    try {
      return await readFile(this.#path(month), 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return '';
      throw error;
    }
  }

  /**
   * Returns the lines of one day (UTC) in the file of a month. A month has many, so only those between
   * the first and the last one of the day are parsed.
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

/** Parses the runs in a text of the ledger; skips lines that a crash cut off, or that are not ours. */
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

/** Validates a line. Budgets and sums are computed from lines, so a damaged one must not spoil all the others. */
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
  // The run took place, however much of its reported usage is valid.
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
