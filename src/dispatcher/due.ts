import type { ActiveHost } from '../bus/approvals.ts';
import type { Tier } from '../protocol/files/host-file.ts';
import type { DeadLetter } from '../state/dead-letters.ts';
import type { QuestionSet } from './question-locks.ts';
import type { Job } from './run/job.ts';

/** The messages for which a run is started. */
interface Batch extends Pick<
  Job,
  'actor' | 'channel' | 'messages' | 'released' | 'isRest' | 'isDealt'
> {
  /** The dead letter that the run retries. */
  letter?: DeadLetter;
}

/** Work for which a run may be started now, if there is room. */
export interface Startable {
  actor: string;
  channel: string;
  messages: readonly string[];
  /** The tiers that may handle it, in the order in which they are tried. */
  tiers: readonly Tier[];
  /** Those in which it has not failed too often. */
  untried: readonly Tier[];
  fanIn: QuestionSet | undefined;
  /** The commit at which it was looked up. */
  tip: string;
  /** Called when there is room: takes it from where it waits. */
  begin: () => Batch;
  /** Called when its run is over. */
  end?: () => void;
}

/** Source of runs: waiting messages and retries. */
export interface DueSource {
  /** Returns the time at which more becomes due without news; undefined when only news can bring more. */
  next: () => Promise<Date | undefined>;
  /**
   * Yields the work that is due now, one item after another: a slot that one item takes is not available to the next.
   */
  due: (host: ActiveHost) => AsyncIterable<Startable>;
}

/** Returns the earliest time at which one of the sources becomes due; work that is due already does not count. */
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
