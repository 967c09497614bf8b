import type { ScheduleFile } from '../../bus/automation/schedules.ts';
import type { Log } from '../../log.ts';
import { hostNamedIn } from '../../protocol/automation/schedule.ts';
import { shown } from '../../protocol/text/result.ts';

/** A schedule that cannot be followed as it stands, for people. */
export interface ScheduleProblem {
  schedule: string;
  problem: string;
}

/** The files of `local/schedules/` that cannot be read; each form of one is logged once. */
export class BrokenFiles {
  readonly #log: Log;
  #found = new Map<string, { oid: string; problem: string }>();
  #before = this.#found;

  constructor(log: Log) {
    this.#log = log;
  }

  get problems(): ScheduleProblem[] {
    return [...this.#found].map(([schedule, { problem }]) => ({ schedule, problem }));
  }

  /** Starts over with the files of another commit. */
  begin(): this {
    this.#before = this.#found;
    this.#found = new Map();
    return this;
  }

  /** @param isKnown whether an earlier form of it is in force on this host */
  note(
    alias: string,
    { name, path, oid, text }: ScheduleFile,
    problems: readonly string[],
    isKnown: boolean,
  ): void {
    // A file of another host is reported there.
    if (!isKnown && (hostNamedIn(text) ?? alias) !== alias) return;
    const reason = problems.join('; ');
    const note = isKnown ? 'the last good one stays in force' : undefined;
    const words = [reason, ...(note === undefined ? [] : [note])].join('; ');
    this.#found.set(name, { oid, problem: `${shown(path).slice(1, -1)}: ${words}` });
    if (this.#before.get(name)?.oid !== oid)
      this.#log('schedule_invalid', { schedule: name, path, reason, ...(note && { note }) });
  }
}
