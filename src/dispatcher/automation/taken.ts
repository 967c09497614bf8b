import type { ScheduleFile } from '../../bus/automation/schedules.ts';
import { ON_TIME_MS } from '../../protocol/automation/occurrences.ts';
import type { Schedule } from '../../protocol/automation/schedule.ts';
import type { ScheduleRecord } from '../../state/automation/schedules.ts';

/** File that this machine takes over, or compares with its record of it. */
export interface Taking {
  file: ScheduleFile;
  schedule: Schedule;
  known: ScheduleRecord | undefined;
}

/**
 * Returns the time, in milliseconds since 1970, before which the time of writing of a file does not matter: only what
 * could still be sent does.
 */
export function reachOf({ file, schedule, known }: Taking, now: Date): number {
  const reach = now.getTime() - Math.max(schedule.grace, ON_TIME_MS);
  return known?.text === file.text ? Math.max(Date.parse(known.committed), reach) : reach;
}

/**
 * Returns the record of a file as it stands; the same one if nothing is new. A file that was removed and made again
 * while nobody looked is recognized by its time of writing.
 *
 * @param written the time of writing, in milliseconds since 1970; undefined if it was before {@link reachOf}
 */
export function recordOf(taking: Taking, written: number | undefined, now: Date): ScheduleRecord {
  const { file, known } = taking;
  const reach = reachOf(taking, now);
  const found = written !== undefined && written >= reach ? written : undefined;
  if (known?.text === file.text && (found === undefined || found <= Date.parse(known.committed)))
    return known;
  const committed = new Date(found ?? reach);
  // The clock that wrote the file may be ahead of this one.
  const since = new Date(Math.min(committed.getTime(), now.getTime()));
  return {
    ...known,
    text: file.text,
    since: since.toISOString(),
    committed: committed.toISOString(),
    taken: now.toISOString(),
  };
}
