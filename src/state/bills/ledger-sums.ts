import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { addUsage, type UsageSum } from '../../protocol/usage.ts';
import { writeWhole } from '../files.ts';
import { linesIn, type Ledger, type LedgerLine } from './ledger.ts';

/** The sum of the runs of one day (UTC) in a group. */
export interface DaySum extends UsageSum {
  day: string;
  runs: number;
  failed: number;
  /** Number of runs whose CLI reported no usage, or ended before it had reported all of it. */
  unstated: number;
  /** Milliseconds. */
  ms: number;
}

/** The part of a run that sums need. */
export type Summed = Omit<LedgerLine, 'id' | 'reason'>;

/** The common property of the runs in a group: their place, thread, skills, subscription or session kind. */
export type SumsBy = 'place' | 'thread' | 'skill' | 'subscription' | 'session';

/**
 * Functions that return the group of a run. The place is the actor, tier, host and channel; the thread is
 * its channel and first message. A run with several skills is counted once, for all of them together; the
 * text is empty for a run without skills, and for one whose tier keeps no sessions.
 */
const COMMON: Record<SumsBy, (run: Summed) => string[]> = {
  place: ({ actor, tier, host, channel }) => [actor, tier, host, channel],
  thread: ({ thread }) => [thread.channel, thread.relPath],
  skill: ({ skills = [] }) => [skills.join(' + ')],
  subscription: ({ subscription = '' }) => [subscription],
  session: ({ session = '' }) => [session],
};

/** Names of the files with sums, after their month. */
const FILES: Record<SumsBy, string> = {
  place: 'sums',
  thread: 'threads',
  skill: 'skills',
  subscription: 'subscriptions',
  session: 'kinds',
};

/** A group of runs, with a sum for each day. */
export interface Group {
  common: string[];
  days: DaySum[];
}

/** Sums that are updated run by run. */
export class Sums {
  readonly #by: SumsBy;
  readonly #groups: Map<string, Group>;

  /** @param groups to which runs are added */
  constructor(by: SumsBy, groups: readonly Group[] = []) {
    this.#by = by;
    this.#groups = new Map(groups.map((group) => [keyOf(group.common), group]));
  }

  add(run: Summed): this {
    const common = COMMON[this.#by](run);
    const key = keyOf(common);
    const group = this.#groups.get(key) ?? { common, days: [] };
    this.#groups.set(key, group);
    const day = run.at.slice(0, 10);
    // Most runs belong to the latest day.
    let sum = group.days.findLast((one) => one.day === day);
    if (sum === undefined) group.days.push((sum = { day, ...NO_RUNS }));
    const { ended, ms, usage, presumed } = run;
    sum.runs++;
    if (ended !== 'answered' && ended !== 'silent') sum.failed++;
    sum.ms += ms;
    if (usage === undefined || presumed === true) sum.unstated++;
    if (usage !== undefined) addUsage(sum, usage);
    return this;
  }

  get all(): Group[] {
    return [...this.#groups.values()];
  }
}

/**
 * Returns the key of a group. Names and paths contain no NUL; JSON would take longer than all other work
 * on a run.
 */
function keyOf(common: readonly string[]): string {
  return common.join('\0');
}

const NO_RUNS = { runs: 0, failed: 0, unstated: 0, ms: 0, input: 0, cached: 0, output: 0 };

/** The cached sums of a month, for the first bytes of its file. */
interface Kept {
  bytes: number;
  /** The last of these bytes, which distinguish this file from another one of the same name. */
  end: string;
  groups: Group[];
}

const NOTHING: Kept = { bytes: 0, end: '', groups: [] };
/** Maximum bytes of lines that are read again each time; above it, the cache is updated. */
const MAX_TAIL = 128 * 1024;
/** Bytes kept of the end of the summed part, enough to contain the id of a run, which is unique. */
const END = 1024;
const NEWLINE = 10;

/** Returns the sums of each month, oldest first. */
export async function sumsOf(ledger: Ledger, by: SumsBy): Promise<Map<string, Group[]>> {
  const sums = new Map<string, Group[]>();
  for (const month of await ledger.months()) sums.set(month, await monthSums(ledger, month, by));
  return sums;
}

/** Returns the sums of a month. A month has any number of runs, so the sums of those already read are cached. */
async function monthSums(ledger: Ledger, month: string, by: SumsBy): Promise<Group[]> {
  const path = join(ledger.folder, `${month}.jsonl`);
  const keptPath = join(ledger.folder, `${month}.${FILES[by]}`);
  let kept = await readKept(keptPath);
  let tail = await readFrom(path, kept.bytes - kept.end.length);
  if (tail.subarray(0, kept.end.length).toString('latin1') !== kept.end) {
    // The ledger was restored, or is another one.
    kept = NOTHING;
    tail = await readFrom(path, 0);
  }
  const fresh = tail.subarray(kept.end.length, tail.lastIndexOf(NEWLINE) + 1);
  if (fresh.length === 0) return kept.groups;
  const sums = new Sums(by, kept.groups);
  for (const line of linesIn(fresh.toString('utf8'))) sums.add(line);
  const groups = sums.all;
  if (fresh.length > MAX_TAIL) {
    const end = fresh.subarray(-END).toString('latin1');
    const text = keptText({ bytes: kept.bytes + fresh.length, end, groups });
    // The cache can be rebuilt at any time, so a full disk costs nothing else.
    await writeWhole(keptPath, text).catch(() => undefined);
  }
  return groups;
}

/** Reads the bytes of a file from a position on; none when there is no file, or it ends before. */
async function readFrom(path: string, position: number): Promise<Buffer> {
  try {
    const file = await open(path);
    try {
      const size = Math.max(0, (await file.stat()).size - position);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, position);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return Buffer.alloc(0);
    throw error;
  }
}

/** The stored form of a day's sum, kept short as a file may hold a hundred thousand of them. */
type StoredDay = [string, number, number, number, number, number, number, number, number?];

/** Version of the stored form; sums in an older form are rebuilt. */
const FORM = 'sums 2';

/** Formats the cache, below a line with its digest that reveals damage. */
function keptText({ bytes, end, groups }: Kept): string {
  const rows = groups.map(({ common, days }) => [
    common,
    days.map(({ day, runs, failed, unstated, ms, input, cached, output, usd }): StoredDay => [
      ...([day, runs, failed, unstated, ms, input, cached, output] as const),
      ...(usd === undefined ? ([] as const) : ([usd] as const)),
    ]),
  ]);
  const text = JSON.stringify({ bytes, end, groups: rows });
  return `${digestOf(text)}\n${text}`;
}

/** Reads the cache in a file; an empty one if it is missing, damaged or in another form. */
async function readKept(path: string): Promise<Kept> {
  const content = await readFile(path, 'utf8').catch(() => '');
  const line = content.indexOf('\n');
  const text = content.slice(line + 1);
  if (line < 0 || content.slice(0, line) !== digestOf(text)) return NOTHING;
  const { groups, ...kept } = JSON.parse(text) as Omit<Kept, 'groups'> & {
    groups: [string[], StoredDay[]][];
  };
  return { ...kept, groups: groups.map(([common, days]) => ({ common, days: days.map(dayOf) })) };
}

function dayOf([day, runs, failed, unstated, ms, input, cached, output, usd]: StoredDay): DaySum {
  const sum = { day, runs, failed, unstated, ms, input, cached, output };
  return usd === undefined ? sum : { ...sum, usd };
}

function digestOf(text: string): string {
  return createHash('sha256').update(`${FORM}\n${text}`).digest('hex');
}
