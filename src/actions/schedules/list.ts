import type { WebSchedule } from '../../api/automation.ts';
import { ScheduleFiles, type ScheduleFile } from '../../bus/automation/schedules.ts';
import { Occurrences } from '../../protocol/automation/occurrences.ts';
import { recipientsOf, zoneOf, type Schedule } from '../../protocol/automation/schedule.ts';
import { ScheduleRecords, type ScheduleRecord } from '../../state/automation/schedules.ts';
import { cost } from '../reading/cost.ts';
import { knownHost } from '../setup/approvals.ts';
import { machineZone, noZone } from '../clock.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { namedFile } from '../lookup/naming.ts';

/** A schedule as `schedule list` shows it. It is printed under these names; times are ISO 8601 in UTC. */
export interface ShownSchedule extends WebSchedule {
  /** US dollars that the runs of its threads have used in the last 30 days; null if no run states its cost. */
  cost_usd: number | null;
  /** Number of those runs. */
  runs: number;
}

/** A schedule with its file, as `schedule show` shows it. */
export interface WholeSchedule extends ShownSchedule {
  text: string;
  /** The times of its next occurrences. */
  upcoming: string[];
}

/** Lists every schedule of the transport, by name. */
export async function listSchedules(context: Context): Promise<ShownSchedule[]> {
  await refreshOrNote(context);
  const schedules = await schedulesHere(context);
  const bill = await billOf(context, schedules);
  return schedules.map((one) => ({ ...one, ...bill(one.name) }));
}

/** Lists every schedule of the transport at the newest commit that is known here, by name. */
export async function schedulesHere(context: Context): Promise<WebSchedule[]> {
  const { files } = await new ScheduleFiles(context.transport).at(await tipOf(context));
  if (files.length === 0) return [];
  const [records, { host }] = await Promise.all([
    recordsOf(context).load(),
    knownHost(context, undefined),
  ]);
  return files.map((file) => shownOf(context, file, records.get(file.name), host?.alias));
}

/** Number of next occurrences that are shown. */
const UPCOMING = 5;

/**
 * Returns one schedule, with its file and its next occurrences.
 *
 * @throws CrosstalkError `not_found`
 */
export async function showSchedule(context: Context, name: string): Promise<WholeSchedule> {
  await refreshOrNote(context);
  const file = await findSchedule(context, name);
  const records = await recordsOf(context).load();
  const { ok } = file.result;
  const upcoming = ok ? upcomingOf(context, file.result.value, UPCOMING) : [];
  const { host } = await knownHost(context, undefined);
  const shown = shownOf(context, file, records.get(name), host?.alias);
  const bill = await billOf(context, [shown]);
  return { ...shown, ...bill(name), text: file.text, upcoming };
}

/**
 * Finds the file of a schedule.
 *
 * @throws CrosstalkError `not_found`
 */
export async function findSchedule(context: Context, name: string): Promise<ScheduleFile> {
  const { files } = await new ScheduleFiles(context.transport).at(await tipOf(context));
  return namedFile(files, 'schedule', name);
}

function recordsOf({ paths }: Context): ScheduleRecords {
  return new ScheduleRecords(paths.root);
}

/** Returns the times of the next occurrences of a schedule, at most `most`; none for a paused schedule. */
export function upcomingOf({ now }: Context, schedule: Schedule, most: number): string[] {
  const zone = zoneOf(schedule, machineZone());
  if (!schedule.enabled || zone === undefined) return [];
  const occurrences = new Occurrences(schedule, zone);
  const found: string[] = [];
  for (let at = occurrences.after(now().getTime()); at !== undefined && found.length < most;) {
    found.push(new Date(at).toISOString());
    at = occurrences.after(at);
  }
  return found;
}

/** Returns the costs of the threads of schedules, by name; nothing is read when there is no schedule. */
async function billOf(
  context: Context,
  schedules: readonly WebSchedule[],
): Promise<(name: string) => Pick<ShownSchedule, 'cost_usd' | 'runs'>> {
  const rows = schedules.length === 0 ? [] : (await cost(context, { by: 'schedule' })).rows;
  const known = new Map(rows.map((row) => [row.what, row]));
  return (name) => ({
    cost_usd: known.get(name)?.usd ?? null,
    runs: known.get(name)?.runs ?? 0,
  });
}

function shownOf(
  context: Context,
  { name, path, result }: ScheduleFile,
  record: ScheduleRecord | undefined,
  here: string | undefined,
): WebSchedule {
  const past = {
    last: record?.last ?? null,
    outcome: record?.outcome ?? null,
    sent: record?.sent ?? null,
  };
  if (!result.ok) {
    const unknown = { host: null, to: null, channel: null, when: null, timezone: null, next: null };
    return { name, path, ...unknown, enabled: true, ...past, problems: result.problems };
  }
  const schedule = result.value;
  // The schedule uses the timezone of its host, which is known there.
  const isElsewhere = zoneOf(schedule, undefined) === undefined && schedule.host !== here;
  const isWithout = !isElsewhere && zoneOf(schedule, machineZone()) === undefined;
  return {
    name,
    path,
    host: schedule.host,
    to: recipientsOf(schedule),
    channel: schedule.channel ?? null,
    when: whenOf(schedule),
    timezone: schedule.timezone ?? null,
    enabled: schedule.enabled,
    next: isElsewhere ? null : (upcomingOf(context, schedule, 1)[0] ?? null),
    ...past,
    problems: isWithout ? [`${noZone()}, and it has no timezone`] : [],
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

/** Formats a duration in the largest unit that divides it. */
function durationText(ms: number): string {
  const [size, unit] = UNITS.find(([one]) => ms % one === 0) ?? [1, 'ms'];
  return `${String(ms / size)}${unit}`;
}
