import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { addUsage, type UsageSum } from '../../protocol/usage.ts';
import { writeWhole } from '../files.ts';
import { linesIn, type Ledger, type LedgerLine } from './ledger.ts';

/** The runs of one day (UTC) that have something in common, together. */
export interface DaySum extends UsageSum {
  day: string;
  runs: number;
  failed: number;
  /** Runs whose CLI stated no usage, or ended before it had stated all of it. */
  unstated: number;
  /** Milliseconds. */
  ms: number;
}

/** A run, as far as sums are concerned. */
export type Summed = Omit<LedgerLine, 'id' | 'reason'>;

/** What the runs of a sum have in common: where they were made, their thread, or for what they are counted. */
export type SumsBy = 'place' | 'thread' | 'skill' | 'subscription' | 'session';

/**
 * The place is the actor, tier, host and channel; the thread is its channel and first message. A run that was told
 * several skills is counted once, for all of them together; one of none has an empty text,
 * and so has one whose tier keeps no sessions.
 */
const COMMON: Record<SumsBy, (run: Summed) => string[]> = {
  place: ({ actor, tier, host, channel }) => [actor, tier, host, channel],
  thread: ({ thread }) => [thread.channel, thread.relPath],
  skill: ({ skills = [] }) => [skills.join(' + ')],
  subscription: ({ subscription = '' }) => [subscription],
  session: ({ session = '' }) => [session],
};

/** What the files are called in which sums are kept, after their month. */
const FILES: Record<SumsBy, string> = {
  place: 'sums',
  thread: 'threads',
  skill: 'skills',
  subscription: 'subscriptions',
  session: 'kinds',
};

/** Runs that have the same in common, day by day. */
export interface Group {
  common: string[];
  days: DaySum[];
}

/** Sums that grow run by run. */
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
    // Most runs are of the latest day that there is.
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

/** Names and paths hold no NUL; JSON would take longer than everything else that is done with a run. */
function keyOf(common: readonly string[]): string {
  return common.join('\0');
}

const NO_RUNS = { runs: 0, failed: 0, unstated: 0, ms: 0, input: 0, cached: 0, output: 0 };

/** What is kept of a month: the sums of the first so many bytes of its file. */
interface Kept {
  bytes: number;
  /** What these bytes end with, by which another file under the same name is told apart. */
  end: string;
  groups: Group[];
}

const NOTHING: Kept = { bytes: 0, end: '', groups: [] };
/** So many bytes of lines are read again each time; past it, what is kept is brought up to date. */
const MAX_TAIL = 128 * 1024;
/** The end of what was summed up holds an id, which no other run has. */
const END = 1024;
const NEWLINE = 10;

/** The sums of each month, oldest first. */
export async function sumsOf(ledger: Ledger, by: SumsBy): Promise<Map<string, Group[]>> {
  const sums = new Map<string, Group[]>();
  for (const month of await ledger.months()) sums.set(month, await monthSums(ledger, month, by));
  return sums;
}

/** The sums of a month. A month has any number of runs, so those that were read are kept as sums. */
async function monthSums(ledger: Ledger, month: string, by: SumsBy): Promise<Group[]> {
  const path = join(ledger.folder, `${month}.jsonl`);
  const keptPath = join(ledger.folder, `${month}.${FILES[by]}`);
  let kept = await readKept(keptPath);
  let tail = await readFrom(path, kept.bytes - kept.end.length);
  if (tail.subarray(0, kept.end.length).toString('latin1') !== kept.end) {
    // It was restored, or is another one.
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
    // They can be made again at any time, so a disk that does not take them costs nothing else.
    await writeWhole(keptPath, text).catch(() => undefined);
  }
  return groups;
}

/** The bytes of a file from a position on; none where there is no file, or it ends before. */
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

/** A day of a group in its file, which may hold a hundred thousand of them. */
type StoredDay = [string, number, number, number, number, number, number, number, number?];

/** How sums are written; sums in an older form are made anew. */
const FORM = 'sums 2';

/** What is kept, below a line with its digest, so that what is damaged is found out. */
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

/** What is kept in a file; nothing if it is not there, damaged or in another form. */
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
