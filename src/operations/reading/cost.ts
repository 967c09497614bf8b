import { readHosts } from '../../bus/host.ts';
import { relPathAt } from '../../protocol/names.ts';
import { threadRoot } from '../../protocol/thread.ts';
import { addUsage, type UsageSum } from '../../protocol/usage.ts';
import { Ledger, linesIn, type LedgerLine } from '../../state/bills/ledger.ts';
import { DaySums, monthSums, type DaySum } from '../../state/bills/ledger-sums.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { byTime, CHUNK, readFiles, type Arrival } from '../lookup/arrivals.ts';
import { newestFirst } from '../lookup/newest.ts';

export const COST_BY = ['actor', 'tier', 'host', 'channel', 'thread', 'day'] as const;
/** By what runs are put together. */
export type CostBy = (typeof COST_BY)[number];

/** Some runs together; money is null if no CLI stated any. Stored and shown under these names. */
export interface CostRow {
  /** The actor, tier, alias of a host, name of a channel, first message of a thread, or day (UTC). */
  what: string;
  /** Of a thread: the id of its channel. */
  channel?: string;
  runs: number;
  /** Of these, the runs that came to nothing. */
  failed: number;
  /** Tokens, without those of the cache. */
  input: number;
  cached: number;
  output: number;
  usd: number | null;
  /** Milliseconds. */
  ms: number;
}

/** What runs have cost. */
export interface Cost {
  by: CostBy;
  /** In ISO form. */
  since: string;
  /** The dearest first; days and ties in order. */
  rows: CostRow[];
  total: CostRow;
  /** Runs whose CLI stated no usage. */
  unstated: number;
  /** Other hosts: only those of their runs are known that gave an answer and told what they used. */
  partly_known: string[];
}

const DAY_MS = 86_400_000;
/** Days back to which runs are counted if nothing else is asked. */
const USUAL_DAYS = 30;

/** One run: of this machine, or an answer of another one. */
type Run = Omit<LedgerLine, 'id' | 'reason'>;

/**
 * What the runs of this machine used, failed and silent ones included, and those of other machines as
 * far as their answers tell.
 *
 * @param since by default the beginning of the day (UTC) 30 days ago
 */
export async function cost(
  context: Context,
  { by, since }: { by: CostBy; since?: Date },
): Promise<Cost> {
  const now = context.now().getTime();
  const first = since ?? new Date(Math.floor(now / DAY_MS - USUAL_DAYS) * DAY_MS);
  const own = await ownRuns(new Ledger(context.paths.ledger), first, by);
  const aliases = new Set(own.map(({ host }) => host));
  const tip = await tipOf(context);
  const others = (await readHosts(context.transport, tip)).flatMap(({ result }) =>
    result.ok && !aliases.has(result.value.alias) ? [result.value.alias] : [],
  );
  if (others.length > 0) {
    await refreshOrNote(context);
    own.push(...(await runsOfOthers(context, await tipOf(context), first, aliases)));
  }
  const names = by === 'channel' ? await namesOf(context, tip) : undefined;
  const rows = new Map<string, CostRow>();
  const total = emptyRow('total');
  let unstated = 0;
  for (const sum of own) {
    const what = names?.get(sum.channel) ?? (by === 'thread' ? (sum.thread ?? '') : sum[by]);
    const row = rows.get(what) ?? emptyRow(what, sum.home);
    rows.set(what, row);
    addTo(row, sum);
    addTo(total, sum);
    unstated += sum.unstated;
  }
  const order = by === 'day' ? byDay : byCost;
  return {
    by,
    since: first.toISOString(),
    rows: [...rows.values()].sort(order),
    total,
    unstated,
    partly_known: others.sort(),
  };
}

/** Runs of one actor and tier. */
export type TierBill = Pick<
  DaySum,
  'actor' | 'tier' | 'runs' | 'usd' | 'input' | 'cached' | 'output'
>;

/** All that this machine has run, in parts that are to be added up. */
export async function ownBill({ paths }: Context): Promise<TierBill[]> {
  const ledger = new Ledger(paths.ledger);
  const sums: TierBill[] = [];
  for (const month of await ledger.months()) sums.push(...(await monthSums(ledger, month)));
  return sums;
}

/** Sums; those of a thread name its first message. */
type Sum = DaySum & { thread?: string; home?: string };

async function ownRuns(ledger: Ledger, since: Date, by: CostBy): Promise<Sum[]> {
  const at = since.toISOString();
  const months = (await ledger.months()).filter((month) => month >= at.slice(0, 7));
  const sums: Sum[] = [];
  for (const month of months) {
    if (by === 'thread') {
      const runs = linesIn(await ledger.text(month)).filter((line) => line.at >= at);
      sums.push(...summed(runs, by));
      continue;
    }
    const cut = since.getTime() % DAY_MS === 0 ? '' : at.slice(0, 10);
    const whole = (await monthSums(ledger, month)).filter(
      ({ day }) => day >= at.slice(0, 10) && day !== cut,
    );
    sums.push(...whole);
    if (cut.startsWith(month)) sums.push(...summed(await runsOfDay(ledger, cut, at), by));
  }
  return sums;
}

/** The runs of one day from a time on; the lines of other days are not parsed. */
async function runsOfDay(ledger: Ledger, day: string, at: string): Promise<LedgerLine[]> {
  const text = await ledger.text(day.slice(0, 7));
  const lines = text.split('\n').filter((line) => line.startsWith(`{"at":"${day}`));
  return linesIn(lines.join('\n')).filter((line) => line.at >= at);
}

function summed(runs: readonly Run[], by: CostBy): Sum[] {
  const groups = new Map<string, DaySums>();
  const homes = new Map<string, string>();
  for (const run of runs) {
    const thread = by === 'thread' ? run.thread.relPath : '';
    let group = groups.get(thread);
    if (group === undefined) groups.set(thread, (group = new DaySums()));
    group.add({ ...run, id: '' });
    homes.set(thread, run.thread.channel);
  }
  return [...groups].flatMap(([thread, { all }]) =>
    all.map((sum) => ({
      ...sum,
      thread,
      ...(by === 'thread' && { home: homes.get(thread) ?? '' }),
    })),
  );
}

/** The runs of other hosts, by the answers in which they tell what they used. */
async function runsOfOthers(
  context: Context,
  tip: string,
  since: Date,
  own: ReadonlySet<string>,
): Promise<Sum[]> {
  const channels = (await context.reader.channels(tip)).map(({ id }) => id);
  const least = relPathAt(since, '').replace(/Z-.*/, '');
  const found: Arrival[] = [];
  for await (const files of newestFirst(context, tip, channels, least))
    for (let at = 0; at < files.length; at += CHUNK)
      found.push(...(await readFiles(context, files.slice(at, at + CHUNK))));
  found.sort(byTime);
  const known = new Map(found.map(({ relPath, message }) => [relPath, message]));
  const runs = found.flatMap(({ relPath, channel, message }): Run[] => {
    const { usage, host, from, timestamp, tier = 'default' } = message;
    if (usage === undefined || host === undefined || own.has(host)) return [];
    const root = threadRoot([{ relPath, message }], (ref) => known.get(ref));
    const thread = { channel, relPath: root };
    const { ms, ...used } = usage;
    const at = timestamp.slice(0, 10);
    return [{ at, actor: from, host, channel, tier, thread, ended: 'answered', ms, usage: used }];
  });
  return summed(runs, 'thread');
}

async function namesOf(context: Context, tip: string): Promise<Map<string, string>> {
  const channels = await context.reader.channels(tip);
  return new Map(channels.map(({ id, name }) => [id, name]));
}

function emptyRow(what: string, channel?: string): CostRow {
  const home = channel === undefined ? {} : { channel };
  return { what, ...home, runs: 0, failed: 0, input: 0, cached: 0, output: 0, usd: null, ms: 0 };
}

function addTo(row: CostRow, sum: DaySum): void {
  row.runs += sum.runs;
  row.failed += sum.failed;
  row.ms += sum.ms;
  const { usd, ...tokens } = row;
  const together: UsageSum = { ...tokens, ...(usd !== null && { usd }) };
  addUsage(together, sum);
  const { input, cached, output } = together;
  Object.assign(row, { input, cached, output, usd: together.usd ?? null });
}

function byDay(a: CostRow, b: CostRow): number {
  return a.what < b.what ? -1 : 1;
}

function byCost(a: CostRow, b: CostRow): number {
  const tokens = (row: CostRow): number => row.input + row.output;
  return (b.usd ?? 0) - (a.usd ?? 0) || tokens(b) - tokens(a) || b.runs - a.runs || byDay(a, b);
}
