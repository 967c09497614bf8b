import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import { dueNow, scheduledMessage } from '../../protocol/automation/firing.ts';
import type { Schedule } from '../../protocol/automation/schedule.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import type { Occurred, ScheduleRecord } from '../../state/automation/schedules.ts';
import type { ScheduleProblem } from './broken-files.ts';
import { SchedulesInForce, type InForceParts } from './in-force.ts';
import { channelFor, isOpen, wasSent, type StandingParts } from './standing.ts';

export interface SchedulesParts extends StandingParts, InForceParts {
  /** Starts to push an entry of the outbox, and waits for nothing. */
  publish: (id: string) => void;
  newId: () => string;
}

/** What became of an occurrence, and the entry of its message, if it has one. */
interface Outcome {
  outcome: Occurred;
  sent?: string;
  id?: string;
}

/**
 * Sends what the schedules of this host say (automation.md, "Schedules").
 *
 * Crash order: the messages in the outbox → the record says that they are dealt with → pushed. The path of a
 * message is made from its occurrence, and it is published only if nothing is there: so what is done twice
 * is one message.
 */
export class Schedules {
  readonly #parts: SchedulesParts;
  readonly #inForce: SchedulesInForce;
  /** Why the last occurrence of a schedule could not be sent, by its name. */
  readonly #failing = new Map<string, string>();

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
    this.#inForce = new SchedulesInForce(parts);
  }

  /** When the next one is due; undefined where there is none. */
  get next(): Date | undefined {
    const { next } = this.#inForce;
    return next === undefined ? undefined : new Date(next);
  }

  /** What is wrong with them; empty where nobody uses schedules. */
  get problems(): ScheduleProblem[] {
    const failing = [...this.#failing].map(([schedule, problem]) => ({ schedule, problem }));
    return [...this.#inForce.problems, ...failing];
  }

  /**
   * Sends what is due on a host; what cannot be done now is tried again at the next call.
   *
   * @param isPaused asked only when something is due: a pause for the whole machine
   */
  async fire(alias: string, tip: string, isPaused: () => Promise<boolean>): Promise<void> {
    await this.#inForce.follow(alias, tip);
    const due = this.#inForce.due();
    if (due.length === 0 || (await isPaused())) return;
    const queued: string[] = [];
    for (const one of due)
      await this.#look(one, tip).then(
        (id) => queued.push(...(id === undefined ? [] : [id])),
        (error: unknown) => {
          this.#noteFailing(one.schedule.name, `it could not be sent: ${reasonOf(error)}`);
        },
      );
    // The messages are in the outbox by now. The next round writes the records, and fails as long as it cannot.
    await this.#inForce.keep().catch(() => undefined);
    passed('schedule_recorded');
    for (const id of queued) this.#parts.publish(id);
  }

  /** Deals with one that is due; returns the entry of its message, if it has one. */
  async #look(
    { schedule, occurrences, record }: ReturnType<SchedulesInForce['due']>[number],
    tip: string,
  ): Promise<string | undefined> {
    const { name } = schedule;
    const now = this.#parts.now().getTime();
    const after = SchedulesInForce.dealtWith(record);
    const { due, isMissed } = dueNow(schedule, occurrences, after, now);
    if (due === undefined) {
      this.#inForce.planAgain(name);
      return undefined;
    }
    const { id, ...outcome }: Outcome = isMissed
      ? { outcome: 'missed' }
      : await this.#send(schedule, due, record, tip);
    const last = new Date(due).toISOString();
    this.#inForce.dealt(name, { ...record, ...outcome, last });
    if (outcome.outcome !== 'refused') this.#failing.delete(name);
    this.#parts.log('schedule_due', { schedule: name, due: last, ...outcome });
    return id;
  }

  async #send(
    schedule: Schedule,
    due: number,
    { sent, taken }: ScheduleRecord,
    tip: string,
  ): Promise<Outcome> {
    const { records, outbox, newId } = this.#parts;
    if (!schedule.overlap && sent !== undefined && (await isOpen(this.#parts, sent, tip)))
      return { outcome: 'unanswered' };
    const channel = await channelFor(this.#parts, schedule, tip);
    if ('problem' in channel) {
      this.#noteFailing(schedule.name, channel.problem);
      return { outcome: 'refused' };
    }
    const at = new Date(due);
    const suffix = await records.suffixOf(schedule.name, at.toISOString());
    const message = scheduledMessage(schedule, at, schedule.host);
    const { relPath, commit } = outgoing(message, channel.id, schedule.host, suffix);
    const ref = `${channel.id}/${relPath}`;
    // Whoever lost its state has lost the key as well, and finds what it sent by what it says. Anybody
    // could write that, so it counts only for what was due before this machine took the schedule over.
    const isBefore = sent === undefined && due <= Date.parse(taken);
    if (isBefore && (await wasSent(this.#parts, schedule, channel.id, at, tip)))
      return { outcome: 'sent', sent: ref };
    const id = newId();
    const requires = commit.files.map(({ path }) => ({ path, oid: null }));
    await outbox.put({ id, commits: [{ ...commit, requires }] });
    passed('schedule_queued');
    return { outcome: 'sent', sent: ref, id };
  }

  /** What fails again and again is logged once. */
  #noteFailing(schedule: string, problem: string): void {
    if (this.#failing.get(schedule) === problem) return;
    this.#failing.set(schedule, problem);
    this.#parts.log('schedule_failed', { schedule, reason: problem });
  }
}
