import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addUsage, type UsageSum } from '../../protocol/usage.ts';
import { isRecord } from '../files.ts';
import { linesIn, type Ledger, type LedgerLine } from './ledger.ts';

/** The runs of one actor, tier and channel on one day (UTC), together. */
export interface DaySum extends UsageSum {
  day: string;
  actor: string;
  tier: string;
  host: string;
  channel: string;
  runs: number;
  failed: number;
  /** Runs whose CLI stated no usage. */
  unstated: number;
  /** Milliseconds. */
  ms: number;
}

/** What is kept of a month: the sums of the first so many bytes of its file. */
interface Kept {
  bytes: number;
  sums: DaySum[];
}

/** So many bytes of lines are read again each time; past it, what is kept is brought up to date. */
const MAX_TAIL = 128 * 1024;

/** The sums of a month. A month has any number of runs, so those that were read are kept as sums. */
export async function monthSums(ledger: Ledger, month: string): Promise<DaySum[]> {
  const kept = await readKept(ledger, month);
  const path = join(ledger.folder, `${month}.jsonl`);
  const bytes = await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
  if (bytes === kept.bytes) return kept.sums;
  // A file that became shorter was restored, or is another one.
  const since = bytes > kept.bytes ? kept : { bytes: 0, sums: [] };
  const text = (await readFile(path)).subarray(since.bytes);
  const whole = text.lastIndexOf(NEWLINE) + 1;
  const sums = new DaySums(since.sums);
  for (const line of linesIn(text.subarray(0, whole).toString('utf8'))) sums.add(line);
  if (whole > MAX_TAIL)
    await keep(ledger, month, { bytes: since.bytes + whole, sums: sums.all }).catch(
      () => undefined,
    );
  return sums.all;
}

const NEWLINE = 10;

/** Sums that grow line by line. */
export class DaySums {
  readonly #sums = new Map<string, DaySum>();

  constructor(sums: readonly DaySum[] = []) {
    for (const sum of sums) this.#sums.set(keyOf(sum), { ...sum });
  }

  add(line: LedgerLine): void {
    const { at, actor, tier, host, channel, ended, ms, usage } = line;
    const place = { day: at.slice(0, 10), actor, tier, host, channel };
    const key = keyOf(place);
    let sum = this.#sums.get(key);
    if (sum === undefined) {
      sum = { ...place, runs: 0, failed: 0, unstated: 0, ms: 0, input: 0, cached: 0, output: 0 };
      this.#sums.set(key, sum);
    }
    sum.runs++;
    if (ended !== 'answered' && ended !== 'silent') sum.failed++;
    sum.ms += ms;
    if (usage === undefined) sum.unstated++;
    else addUsage(sum, usage);
  }

  get all(): DaySum[] {
    return [...this.#sums.values()];
  }
}

function keyOf({
  day,
  actor,
  tier,
  host,
  channel,
}: Pick<DaySum, 'day' | 'actor' | 'tier' | 'host' | 'channel'>): string {
  return `${day} ${actor} ${tier} ${host} ${channel}`;
}

function keptPath(ledger: Ledger, month: string): string {
  return join(ledger.folder, `${month}.sums`);
}

async function readKept(ledger: Ledger, month: string): Promise<Kept> {
  try {
    const value: unknown = JSON.parse(await readFile(keptPath(ledger, month), 'utf8'));
    if (isKept(value)) return value;
  } catch {
    // It is made anew.
  }
  return { bytes: 0, sums: [] };
}

function isKept(value: unknown): value is Kept {
  if (!isRecord(value)) return false;
  const { bytes, sums } = value;
  return Number.isInteger(bytes) && Number(bytes) >= 0 && Array.isArray(sums) && sums.every(isSum);
}

function isSum(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { usd = 0 } = value;
  const names = ['day', 'actor', 'tier', 'host', 'channel'].map((name) => value[name]);
  const counts = ['runs', 'failed', 'unstated', 'ms', 'input', 'cached', 'output'];
  return (
    names.every((name) => typeof name === 'string') &&
    [usd, ...counts.map((name) => value[name])].every(Number.isFinite)
  );
}

async function keep(ledger: Ledger, month: string, kept: Kept): Promise<void> {
  const path = keptPath(ledger, month);
  const fresh = `${path}.${String(process.pid)}`;
  await writeFile(fresh, JSON.stringify(kept), { mode: 0o600 });
  await rename(fresh, path);
}
