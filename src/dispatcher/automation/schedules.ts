import { passed } from '../../crash-points.ts';
import { committedSince, readSchedules, type ScheduleFile } from '../../bus/schedules.ts';
import type { Publisher } from '../../bus/publisher.ts';
import type { Log } from '../../log.ts';
import { dueNow, scheduledMessage } from '../../protocol/automation/firing.ts';
import { Occurrences } from '../../protocol/automation/occurrences.ts';
import { parseSchedule, type Schedule } from '../../protocol/automation/schedule.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import type { Occurred, ScheduleRecord, ScheduleRecords } from '../../state/automation/schedules.ts';
import type { Transport } from '../../transport/transport.ts';
import { channelFor, isOpen, wasSent, type StandingParts } from './standing.ts';

export interface SchedulesParts extends StandingParts {
  transport: Transport;
  records: ScheduleRecords;
  publisher: Publisher;
  /** The time zone of this machine. */
  zone: string;
  log: Log;
  newId: () => string;
}

/**
 * Sends what the schedules of this host say (automation.md, "Schedules").
 *
 * Crash order: the message in the outbox → the record says that it is dealt with → pushed. The path of a
 * message is made from its occurrence, and it is published only if nothing is there: so what is done twice
 * is one message.
 */
export class Schedules {
  readonly #parts: SchedulesParts;
  #files: readonly ScheduleFile[] = [];
  #read: string | undefined;
  #records: Map<string, ScheduleRecord> | undefined;
  /** When each schedule is due next, in milliseconds since 1970. */
  readonly #next = new Map<string, number>();
  readonly #said = new Set<string>();

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
  }

  /** When the next one is due; undefined where there is none. */
  get next(): Date | undefined {
    return this.#next.size === 0 ? undefined : new Date(Math.min(...this.#next.values()));
  }

  /** Sends what is due on a host; what cannot be done now is tried again at the next call. */
  async fire(alias: string, tip: string): Promise<void> {
    const { transport, records, now } = this.#parts;
    if (this.#read !== tip) {
      this.#files = await readSchedules(transport, tip);
      this.#records ??= this.#files.length === 0 ? undefined : await records.load();
      if (this.#records !== undefined) await this.#follow(alias, tip, this.#records);
      this.#read = tip;
    }
    for (const [name, record] of this.#records ?? []) {
      if ((this.#next.get(name) ?? Infinity) > now().getTime()) continue;
      await this.#look(name, record, tip);
    }
  }

  /** Brings the records up to what the files of a commit say. */
  async #follow(alias: string, tip: string, records: Map<string, ScheduleRecord>): Promise<void> {
    const { transport, log, now } = this.#parts;
    const mine = new Set<string>();
    let isChanged = false;
    for (const { name, path, oid, text, result } of this.#files) {
      const known = records.get(name);
      if (!result.ok) {
        if (known !== undefined) mine.add(name);
        if (known !== undefined && !this.#next.has(name)) this.#plan(name, known);
        this.#say(`${name} ${oid}`, () => {
          const kept = known === undefined ? {} : { note: 'the last good one stays in force' };
          log('schedule_invalid', {
            schedule: name,
            path,
            reason: result.problems.join('; '),
            ...kept,
          });
        });
        continue;
      }
      if (result.value.host !== alias) continue;
      mine.add(name);
      if (known?.text === text) {
        if (!this.#next.has(name)) this.#plan(name, known);
        continue;
      }
      // Only what could still be sent matters.
      const reach = new Date(now().getTime() - result.value.grace);
      const since = (await committedSince(transport, tip, path, reach)) ?? reach.getTime();
      const record = { ...known, text, since: new Date(since).toISOString() };
      records.set(name, record);
      this.#plan(name, record);
      isChanged = true;
      log('schedule_loaded', { schedule: name, path, next: this.#nextOf(name) });
    }
    for (const name of records.keys())
      if (!mine.has(name)) {
        isChanged = records.delete(name) || isChanged;
        this.#next.delete(name);
      }
    if (isChanged) await this.#parts.records.save(records);
  }

  #nextOf(name: string): string | undefined {
    const next = this.#next.get(name);
    return next === undefined ? undefined : new Date(next).toISOString();
  }

  /** Finds out when a schedule is due next, after what was dealt with. */
  #plan(name: string, record: ScheduleRecord): void {
    const schedule = parseSchedule(record.text, name);
    const next =
      schedule.ok && schedule.value.enabled
        ? this.#occurrences(schedule.value).after(this.#dealtWith(record))
        : undefined;
    if (next === undefined) this.#next.delete(name);
    else this.#next.set(name, next);
  }

  /** A clock that was set back must not keep a schedule from its next occurrence. */
  #dealtWith({ since, last = since }: ScheduleRecord): number {
    return Math.min(Math.max(Date.parse(since), Date.parse(last)), this.#parts.now().getTime());
  }

  #occurrences(schedule: Schedule): Occurrences {
    return new Occurrences(schedule, schedule.timezone ?? this.#parts.zone);
  }

  async #look(name: string, record: ScheduleRecord, tip: string): Promise<void> {
    const parsed = parseSchedule(record.text, name);
    if (!parsed.ok) return;
    const schedule = parsed.value;
    const now = this.#parts.now().getTime();
    const { due, isMissed } = dueNow(
      schedule,
      this.#occurrences(schedule),
      this.#dealtWith(record),
      now,
    );
    if (due === undefined) {
      this.#plan(name, record);
      return;
    }
    const outcome = isMissed
      ? { outcome: 'missed' as const }
      : await this.#send(schedule, due, record, tip);
    const dealt = { ...record, ...outcome, last: new Date(due).toISOString() };
    this.#records?.set(name, dealt);
    if (this.#records !== undefined) await this.#parts.records.save(this.#records);
    passed('schedule_recorded');
    this.#plan(name, dealt);
    this.#parts.log('schedule_due', {
      schedule: name,
      due: dealt.last,
      outcome: outcome.outcome,
      next: this.#nextOf(name),
    });
    if ('id' in outcome) void this.#parts.publisher.publish(outcome.id).catch(() => undefined);
  }

  async #send(
    schedule: Schedule,
    due: number,
    { sent }: ScheduleRecord,
    tip: string,
  ): Promise<{ outcome: Occurred; sent?: string; id?: string }> {
    const { records, outbox, newId, log } = this.#parts;
    if (!schedule.overlap && sent !== undefined && (await isOpen(this.#parts, sent, tip)))
      return { outcome: 'unanswered' };
    const channel = await channelFor(this.#parts, schedule, tip);
    if ('problem' in channel) {
      log('schedule_invalid', { schedule: schedule.name, reason: channel.problem });
      return { outcome: 'refused' };
    }
    const at = new Date(due);
    const suffix = await records.suffixOf(schedule.name, at.toISOString());
    const message = scheduledMessage(schedule, at);
    const { relPath, commit } = outgoing(message, channel.id, schedule.host, suffix);
    const ref = `${channel.id}/${relPath}`;
    // Whoever lost its state has lost the key as well, and finds what it sent by what it says.
    if (sent === undefined && (await wasSent(this.#parts, schedule, channel.id, at, tip)))
      return { outcome: 'sent', sent: ref };
    const id = newId();
    const requires = commit.files.map(({ path }) => ({ path, oid: null }));
    await outbox.put({ id, commits: [{ ...commit, requires }] });
    passed('schedule_queued');
    return { outcome: 'sent', sent: ref, id };
  }

  #say(what: string, say: () => void): void {
    if (this.#said.has(what)) return;
    this.#said.add(what);
    say();
  }
}
