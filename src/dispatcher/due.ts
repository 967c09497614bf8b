import type { ActiveHost } from '../bus/approvals.ts';
import type { DeadLetter } from '../state/dead-letters.ts';
import type { FanIn } from './fan-ins.ts';
import type { Job } from './run/job.ts';

/** What a run is started for. */
interface Batch extends Pick<
  Job,
  'actor' | 'channel' | 'messages' | 'released' | 'isRest' | 'isDealt'
> {
  /** The dead letter that it tries again. */
  letter?: DeadLetter;
}

/** Something for which a run may be started now, if there is room. */
export interface Startable {
  actor: string;
  /** The tiers that its messages ask for. */
  tiers: (string | undefined)[];
  fanIn: FanIn | undefined;
  /** The commit that it was looked up at. */
  tip: string;
  /** There is room: takes it from where it waits. */
  begin: () => Batch;
  /** Its run is over. */
  end?: () => void;
}

/** Where runs come from: mail that waits and retries; schedules would be a third one. */
export interface DueSource {
  /** When more of it will be due by the clock alone; undefined when only news can bring more. */
  next: () => Promise<Date | undefined>;
  /** What is due now, one after another: a place in a lane that one takes is gone for the next. */
  due: (host: ActiveHost) => AsyncIterable<Startable>;
}

/** When the first of some sources will be due; what is due already does not count. */
export async function firstDue(
  sources: readonly Pick<DueSource, 'next'>[],
  now: Date,
): Promise<Date | undefined> {
  const times: Date[] = [];
  for (const source of sources) {
    const time = await source.next();
    if (time !== undefined && time > now) times.push(time);
  }
  return times.sort((a, b) => Number(a) - Number(b))[0];
}
