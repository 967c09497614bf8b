import { skillNames } from '../../bus/automation/skills.ts';
import { readHosts } from '../../bus/host.ts';
import { relPathAt } from '../../protocol/layout.ts';
import { addMoney } from '../../protocol/usage.ts';
import { Ledger } from '../../state/bills/ledger.ts';
import {
  Sums,
  sumsOf,
  type DaySum,
  type Group,
  type Summed,
  type SumsBy,
} from '../../state/bills/ledger-sums.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { byTime, CHUNK, readFiles, type Arrival, newestFirst } from '../lookup/arrivals.ts';
import type { CostBy } from './cost-by.ts';
import { startedBy } from '../../protocol/automation/occurrences.ts';
import { ledBy } from '../../protocol/automation/follow-up.ts';
import { sessionIn } from '../../protocol/files/tier-options.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { threadRoot } from '../../protocol/thread.ts';

/** Some runs together; money is null if no CLI stated any. Stored and shown under these names. */
export interface CostRow {
  /**
   * The actor, tier, alias of a host, channel, first message of a thread, schedule, subscription, skill, kind of
   * session, or day (UTC).
   */
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

/** Costs of runs. */
export interface Cost {
  by: CostBy;
  /** In ISO form. */
  since: string;
  /** The dearest first; days and ties in order. */
  rows: CostRow[];
  total: CostRow;
  /** Runs whose CLI stated no usage. */
  unstated: number;
  /** Other hosts: of theirs, only runs are known that gave an answer with its usage. */
  partly_known: string[];
}

const DAY_MS = 86_400_000;
/** Days back to which runs are counted if nothing else is asked. */
const USUAL_DAYS = 30;

/**
 * Returns the usage of the runs of this machine, failed and silent ones included, and of those of other machines as
 * far as their answers state it.
 *
 * @param since by default the beginning of the day (UTC) 30 days ago
 */
export async function cost(
  context: Context,
  { by, since }: { by: CostBy; since?: Date },
): Promise<Cost> {
  const now = context.now().getTime();
  const first = since ?? new Date(Math.floor(now / DAY_MS - USUAL_DAYS) * DAY_MS);
  const ledger = new Ledger(context.paths.ledger);
  // Git is asked while the ledger is read.
  const [before, { groups, own }] = await Promise.all([
    hostsNow(context),
    ownRuns(ledger, first, by),
  ]);
  let { tip } = before;
  let others = before.aliases.filter((alias) => !own.has(alias));
  if (others.length > 0) {
    await refreshOrNote(context);
    const after = await hostsNow(context);
    tip = after.tip;
    others = after.aliases.filter((alias) => !own.has(alias));
    const runs = await runsOfOthers(context, tip, first, own);
    groups.push(...runs.reduce((sums, run) => sums.add(run), new Sums(sumsBy(by))).all);
  }
  const names = by === 'channel' ? await namesOf(context, tip) : undefined;
  const rows = new Map<string, CostRow>();
  const total = emptyRow('total');
  let unstated = 0;
  for (const { common, days } of await regrouped(context, by, tip, groups)) {
    const { key, what, home } = whatOf(by, common);
    const row = rows.get(key) ?? emptyRow(names?.get(what) ?? what, home);
    rows.set(key, row);
    for (const sum of days) {
      addTo(row, sum);
      unstated += sum.unstated;
    }
  }
  for (const { usd, ...row } of rows.values())
    addTo(total, { ...row, ...(usd !== null && { usd }) });
  const order = by === 'day' ? byDay : byCost;
  return {
    by,
    since: first.toISOString(),
    rows: [...rows.values()].sort(order),
    total,
    unstated,
    partly_known: others,
  };
}

/** Runs of one actor and tier. */
export interface TierBill extends DaySum {
  actor: string;
  tier: string;
}

/** Returns all runs of this machine, in parts that are to be added up. */
export async function ownBill({ paths }: Context): Promise<TierBill[]> {
  const places = await sumsOf(new Ledger(paths.ledger), 'place');
  return [...places.values()]
    .flat()
    .flatMap(({ common: [actor = '', tier = ''], days }) =>
      days.map((sum) => ({ ...sum, actor, tier })),
    );
}

function sumsBy(by: CostBy): SumsBy {
  if (by === 'skill' || by === 'subscription' || by === 'session') return by;
  return by === 'thread' || by === 'schedule' ? 'thread' : 'place';
}

/** Returns the key under which a group is counted; `home`: of a thread, the id of its channel. */
function whatOf(
  by: CostBy,
  common: readonly string[],
): { key: string; what: string; home?: string } {
  if (by === 'thread') {
    const [home = '', what = ''] = common;
    // Anybody may push the path of a message to another channel as well.
    return { key: `${home}/${what}`, what, home };
  }
  const [kind = ''] = common;
  if (by === 'session') return { key: kind, what: kind === '' ? NO_SESSION : kind };
  const what = common[Math.max(0, PLACE.indexOf(by))] ?? '';
  return { key: what, what };
}

/** Name under which runs are counted whose tier keeps no sessions. */
const NO_SESSION = '(no session)';

/** Fields that the groups by place have in common, in order. */
const PLACE: readonly CostBy[] = ['actor', 'tier', 'host', 'channel'];

/** Returns the sums of this machine's runs that started at a time or later, and all aliases it ever ran under. */
async function ownRuns(
  ledger: Ledger,
  since: Date,
  by: CostBy,
): Promise<{ groups: Group[]; own: ReadonlySet<string> }> {
  const places = await sumsOf(ledger, 'place');
  const own = new Set([...places.values()].flat().flatMap(({ common: [, , host = ''] }) => host));
  const byMonth = sumsBy(by) === 'place' ? places : await sumsOf(ledger, sumsBy(by));
  const at = since.toISOString();
  const day = at.slice(0, 10);
  const isWhole = since.getTime() % DAY_MS === 0;
  const groups: Group[] = [];
  // Lines may be in the file of a later month, never of an earlier one.
  for (const [month, all] of byMonth) {
    if (month < at.slice(0, 7)) continue;
    for (const { common, days } of all) {
      const meant = days.filter((sum) => (isWhole ? sum.day >= day : sum.day > day));
      if (meant.length > 0) groups.push({ common, days: meant });
    }
    if (isWhole || !all.some(({ days }) => days.some((sum) => sum.day === day))) continue;
    const sums = new Sums(sumsBy(by));
    for (const line of await ledger.linesOf(month, day)) if (line.at >= at) sums.add(line);
    groups.push(...sums.all);
  }
  return { groups, own };
}

/** Returns the newest commit that is known, and the aliases of its hosts, in order. */
async function hostsNow(context: Context): Promise<{ tip: string; aliases: string[] }> {
  const tip = await tipOf(context);
  const hosts = await readHosts(context.transport, tip);
  const aliases = hosts.flatMap(({ result }) => (result.ok ? [result.value.alias] : []));
  return { tip, aliases: [...new Set(aliases)].sort() };
}

/** Returns the runs of other hosts, by the answers in which they state their usage. */
async function runsOfOthers(
  context: Context,
  tip: string,
  since: Date,
  own: ReadonlySet<string>,
): Promise<Summed[]> {
  const channels = (await context.reader.channels(tip)).map(({ id }) => id);
  const least = relPathAt(since, '').replace(/Z-.*/, '');
  const found: Arrival[] = [];
  for await (const files of newestFirst(context, tip, channels, least))
    for (let at = 0; at < files.length; at += CHUNK)
      found.push(...(await readFiles(context, files.slice(at, at + CHUNK))));
  found.sort(byTime);
  const skills = new Set(await skillNames(context.transport, tip));
  return runsIn(found, own, skills);
}

async function namesOf(context: Context, tip: string): Promise<Map<string, string>> {
  const channels = await context.reader.channels(tip);
  return new Map(channels.map(({ id, name }) => [id, name]));
}

function emptyRow(what: string, channel?: string): CostRow {
  const home = channel === undefined ? {} : { channel };
  return { what, ...home, runs: 0, failed: 0, input: 0, cached: 0, output: 0, usd: null, ms: 0 };
}

function addTo(row: CostRow, sum: Omit<DaySum, 'day' | 'unstated'>): void {
  row.runs += sum.runs;
  row.failed += sum.failed;
  row.ms += sum.ms;
  row.input += sum.input;
  row.cached += sum.cached;
  row.output += sum.output;
  if (sum.usd !== undefined) row.usd = addMoney(row.usd ?? 0, sum.usd);
}

function byDay(a: CostRow, b: CostRow): number {
  return a.what < b.what ? -1 : 1;
}

function byCost(a: CostRow, b: CostRow): number {
  const tokens = (row: CostRow): number => row.input + row.output;
  return (b.usd ?? 0) - (a.usd ?? 0) || tokens(b) - tokens(a) || b.runs - a.runs || byDay(a, b);
}

/** Returns the groups that are shown, from those that are stored. */
async function regrouped(
  context: Context,
  by: string,
  tip: string,
  groups: Group[],
): Promise<Group[]> {
  if (by === 'schedule') return bySchedule(context, tip, groups);
  if (by === 'skill' || by === 'subscription')
    return groups.map(({ common: [name = ''], days }) => ({
      common: [name === '' ? `(no ${by})` : name],
      days,
    }));
  return by === 'day' ? groups.flatMap(byItsDays) : groups;
}

/** Returns a group for each day, with the day in common. */
function byItsDays({ days }: Group): Group[] {
  return days.map((sum) => ({ common: [sum.day], days: [sum] }));
}

/** Name under which runs are counted whose thread no schedule started. */
const NO_SCHEDULE = '(no schedule)';

/**
 * Puts the runs of threads together by the schedule whose message started the thread, as that message states. A
 * thread that is archived, or was never on the bus, counts as started by none.
 *
 * @param threads groups that have in common a channel and the first message of a thread
 * @returns groups that have the name of a schedule in common
 */
async function bySchedule(
  { reader }: Context,
  tip: string,
  threads: readonly Group[],
): Promise<Group[]> {
  const channels = new Map<string, Group[]>();
  for (const group of threads) {
    const [channel = ''] = group.common;
    const known = channels.get(channel);
    if (known === undefined) channels.set(channel, [group]);
    else known.push(group);
  }
  const groups: Group[] = [];
  for (const [channel, some] of channels) {
    const firsts = [...new Set(some.map(({ common: [, first = ''] }) => first))];
    const messages = await reader.messages(tip, channel, firsts);
    const names = new Map(
      messages.map(({ relPath, message }) => [relPath, startedBy(message)?.schedule]),
    );
    for (const { common, days } of some)
      groups.push({ common: [names.get(common[1] ?? '') ?? NO_SCHEDULE], days });
  }
  return groups;
}

/**
 * Returns the runs of other hosts, by the answers in which they state their usage. The skills in their prompts are
 * not on the bus: an existing skill counts as used where it was asked for.
 *
 * @param found messages in the order of time, the answers and the messages that they answer
 * @param own the aliases of this machine, whose runs are in its ledger
 * @param skills the names of those that are there
 */
function runsIn(
  found: readonly Arrival[],
  own: ReadonlySet<string>,
  skills: ReadonlySet<string>,
): Summed[] {
  const known = new Map(found.map(({ relPath, message }) => [relPath, message]));
  const lookup = (ref: string): Arrival['message'] | undefined => known.get(ref);
  return found.flatMap(({ relPath, channel, message }): Summed[] => {
    const { usage, host, from, timestamp, tier = 'default', extra } = message;
    const session = sessionIn(extra['session']);
    if (usage === undefined || host === undefined || own.has(host)) return [];
    const subscription = ledBy([{ relPath, message }], lookup);
    const asked = message.re.flatMap((ref) => skillAskedFor(lookup(ref)?.body ?? '') ?? []);
    const told = [...new Set(asked)].filter((name) => skills.has(name)).sort();
    const { ms, ...used } = usage;
    return [
      {
        ...{ at: timestamp.slice(0, 10), actor: from, host, channel, tier, ended: 'answered', ms },
        thread: { channel, relPath: threadRoot([{ relPath, message }], lookup) },
        usage: used,
        ...(subscription !== undefined && { subscription }),
        ...(session && { session }),
        ...(told.length > 0 && { skills: told }),
      },
    ];
  });
}
