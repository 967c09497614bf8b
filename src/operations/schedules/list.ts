import { ScheduleFiles, type ScheduleFile } from '../../bus/schedules.ts';
import { CrosstalkError } from '../../errors.ts';
import { Occurrences } from '../../protocol/automation/occurrences.ts';
import { recipientsOf, type Schedule } from '../../protocol/automation/schedule.ts';
import { shown } from '../../protocol/text/result.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import {
  ScheduleRecords,
  type Occurred,
  type ScheduleRecord,
} from '../../state/automation/schedules.ts';
import { cost, type CostRow } from '../reading/cost.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';

/** A schedule as `schedule list` shows it. Printed under these names; times are ISO 8601 in UTC. */
export interface ShownSchedule {
  name: string;
  path: string;
  /** Null for a file that cannot be read. */
  host: string | null;
  to: string | null;
  channel: string | null;
  /** `cron`, `every` or `at`, with its value. */
  when: string | null;
  timezone: string | null;
  enabled: boolean;
  /** When it is due next; null when it never is, or is paused. */
  next: string | null;
  /** The last occurrence that this machine has dealt with; null for other hosts. */
  last: string | null;
  outcome: Occurred | null;
  /** The last message that was sent, as `<channel id>/<relPath>`. */
  sent: string | null;
  /** US dollars that the runs of its threads have used in the last 30 days; null if none are stated. */
  cost_usd: number | null;
  /** How many runs those were. */
  runs: number;
  /** Why the file cannot be read; the last good one stays in force on its host. */
  problems: string[];
}

/** A schedule with its file, for those who look at one. */
export interface WholeSchedule extends ShownSchedule {
  text: string;
  /** When it is due next, several times. */
  upcoming: string[];
}

/** Every schedule of the transport, by name. */
export async function listSchedules(context: Context): Promise<ShownSchedule[]> {
  await refreshOrNote(context);
  const { files } = await new ScheduleFiles(context.transport).at(await tipOf(context));
  if (files.length === 0) return [];
  const [records, bill] = await Promise.all([recordsOf(context).load(), billOf(context)]);
  return files.map((file) => shownOf(context, file, records.get(file.name), bill));
}

/** How many of the next occurrences are shown. */
const UPCOMING = 5;

/**
 * One schedule, with its file and when it is due next.
 *
 * @throws CrosstalkError `not_found`
 */
export async function showSchedule(context: Context, name: string): Promise<WholeSchedule> {
  await refreshOrNote(context);
  const file = await findSchedule(context, name);
  const records = await recordsOf(context).load();
  const { ok } = file.result;
  const upcoming = ok ? upcomingOf(context, file.result.value, UPCOMING) : [];
  const shown = shownOf(context, file, records.get(name), await billOf(context));
  return { ...shown, text: file.text, upcoming };
}

/** @throws CrosstalkError `not_found` */
export async function findSchedule(context: Context, name: string): Promise<ScheduleFile> {
  const { files } = await new ScheduleFiles(context.transport).at(await tipOf(context));
  const found = files.find((file) => file.name === name);
  if (found !== undefined) return found;
  const names = files.map((file) => file.name);
  const near = didYouMean(name, names);
  throw new CrosstalkError(
    'not_found',
    names.length === 0
      ? `no schedule ${shown(name)}; make one with: crosstalk schedule add ${shown(name)}`
      : `no schedule ${shown(name)}${near === '' ? '; see: crosstalk schedule list' : near}`,
  );
}

export function recordsOf({ paths, secret }: Context): ScheduleRecords {
  return new ScheduleRecords(paths.root, secret);
}

/** The zone of this machine, by which a schedule goes that names none. */
function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** When a schedule is due next, so many times; nothing for one that is paused. */
export function upcomingOf({ now }: Context, schedule: Schedule, most: number): string[] {
  if (!schedule.enabled) return [];
  const occurrences = new Occurrences(schedule, schedule.timezone ?? ownZone());
  const found: string[] = [];
  for (let at = occurrences.after(now().getTime()); at !== undefined && found.length < most;) {
    found.push(new Date(at).toISOString());
    at = occurrences.after(at);
  }
  return found;
}

/** What the threads of each schedule have used; a schedule without runs is not in it. */
async function billOf(context: Context): Promise<ReadonlyMap<string, CostRow>> {
  const { rows } = await cost(context, { by: 'schedule' });
  return new Map(rows.map((row) => [row.what, row]));
}

function shownOf(
  context: Context,
  { name, path, result }: ScheduleFile,
  record: ScheduleRecord | undefined,
  bill: ReadonlyMap<string, CostRow>,
): ShownSchedule {
  const past = {
    cost_usd: bill.get(name)?.usd ?? null,
    runs: bill.get(name)?.runs ?? 0,
    last: record?.last ?? null,
    outcome: record?.outcome ?? null,
    sent: record?.sent ?? null,
  };
  if (!result.ok) {
    const unknown = { host: null, to: null, channel: null, when: null, timezone: null, next: null };
    return { name, path, ...unknown, enabled: true, ...past, problems: result.problems };
  }
  const schedule = result.value;
  return {
    name,
    path,
    host: schedule.host,
    to: recipientsOf(schedule),
    channel: schedule.channel ?? null,
    when: whenOf(schedule),
    timezone: schedule.timezone ?? null,
    enabled: schedule.enabled,
    next: upcomingOf(context, schedule, 1)[0] ?? null,
    ...past,
    problems: [],
  };
}

function whenOf({ when }: Schedule): string {
  if (when.kind === 'cron') return `cron ${when.expression}`;
  return when.kind === 'at'
    ? `at ${new Date(when.time).toISOString()}`
    : `every ${durationText(when.ms)}`;
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
] as const;

/** A duration in the largest unit that divides it. */
function durationText(ms: number): string {
  const [size, unit] = UNITS.find(([one]) => ms % one === 0) ?? [1, 'ms'];
  return `${String(ms / size)}${unit}`;
}
