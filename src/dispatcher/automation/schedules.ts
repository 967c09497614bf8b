import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import { dueNow, scheduledMessage, Occurrences } from '../../protocol/automation/occurrences.ts';
import {
  type Schedule,
  hostNamedIn,
  parseSchedule,
  zoneOf,
} from '../../protocol/automation/schedule.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import type {
  Occurred,
  ScheduleRecord,
  ScheduleRecords,
} from '../../state/automation/schedules.ts';
import { type ScheduleProblem, BrokenFiles } from './broken-files.ts';
import { channelFor, isOpen, wasSent, type StandingApp } from './standing.ts';
import type { FoundSchedules, ScheduleFile } from '../../bus/automation/schedules.ts';
import type { Log } from '../../log.ts';
import { reachOf, recordOf, type Taking } from './taken.ts';

export interface SchedulesApp extends StandingApp, FollowedApp {
  /** Starts to push an entry of the outbox, and waits for nothing. */
  publish: (id: string) => void;
  newId: () => string;
}

/** Outcome of an occurrence, with the entry of its message, if it has one. */
interface Outcome {
  outcome: Occurred;
  sent?: string;
  id?: string;
}

/**
 * Sends the messages of this host's schedules (automation.md, "Schedules").
 *
 * Crash order: the messages in the outbox → the record marks them as sent → pushed. The path of a message is made
 * from its occurrence, and it is published only if nothing is there: so doing it twice gives one message.
 */
export class Schedules {
  readonly #app: SchedulesApp;
  readonly #inForce: SchedulesInForce;
  /** Reasons why the last occurrence of a schedule could not be sent, by its name. */
  readonly #failing = new Map<string, string>();

  constructor(app: SchedulesApp) {
    this.#app = app;
    this.#inForce = new SchedulesInForce(app);
  }

  /** When the next one is due; undefined where there is none. */
  get next(): Date | undefined {
    const { next } = this.#inForce;
    return next === undefined ? undefined : new Date(next);
  }

  /** Problems of the schedules; empty where nobody uses schedules. */
  get problems(): ScheduleProblem[] {
    const failing = [...this.#failing].map(([schedule, problem]) => ({ schedule, problem }));
    return [...this.#inForce.problems, ...failing];
  }

  /**
   * Sends the due messages of a host; what cannot be done now is tried again at the next call.
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
    for (const id of queued) this.#app.publish(id);
  }

  /** Deals with one that is due; returns the entry of its message, if it has one. */
  async #look(
    { schedule, occurrences, record }: ReturnType<SchedulesInForce['due']>[number],
    tip: string,
  ): Promise<string | undefined> {
    const { name } = schedule;
    const now = this.#app.now().getTime();
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
    this.#app.log('schedule_due', { schedule: name, due: last, ...outcome });
    return id;
  }

  async #send(
    schedule: Schedule,
    due: number,
    { sent, taken }: ScheduleRecord,
    tip: string,
  ): Promise<Outcome> {
    const { records, outbox, newId } = this.#app;
    if (!schedule.overlap && sent !== undefined && (await isOpen(this.#app, sent, tip)))
      return { outcome: 'unanswered' };
    const channel = await channelFor(this.#app, schedule, tip);
    if ('problem' in channel) {
      this.#noteFailing(schedule.name, channel.problem);
      return { outcome: 'refused' };
    }
    const at = new Date(due);
    const suffix = records.suffixOf(schedule.name, at.toISOString());
    const message = scheduledMessage(schedule, at, schedule.host);
    const { relPath, commit } = outgoing(message, channel.id, schedule.host, suffix);
    const ref = `${channel.id}/${relPath}`;
    // A machine that lost its state has lost the key as well, and finds the messages it sent by their content.
    // Anybody could write that, so it counts only for occurrences due before this machine took the schedule over.
    const isBefore = sent === undefined && due <= Date.parse(taken);
    if (isBefore && (await wasSent(this.#app, schedule, channel.id, at, tip)))
      return { outcome: 'sent', sent: ref };
    const id = newId();
    const requires = commit.files.map(({ path }) => ({ path, oid: null }));
    await outbox.put({ id, commits: [{ ...commit, requires }] });
    passed('schedule_queued');
    return { outcome: 'sent', sent: ref, id };
  }

  /** Logs a failure that repeats only once. */
  #noteFailing(schedule: string, problem: string): void {
    if (this.#failing.get(schedule) === problem) return;
    this.#failing.set(schedule, problem);
    this.#app.log('schedule_failed', { schedule, reason: problem });
  }
}

interface FollowedApp {
  /** Every schedule at a commit; see `ScheduleFiles`. */
  files: (
    tip: string,
    known: () => Promise<Pick<ReadonlySet<string>, 'has'>>,
  ) => Promise<FoundSchedules>;
  /** When files were last written, see `committedSince`. */
  committedSince: (
    tip: string,
    paths: readonly string[],
    since: Date,
  ) => Promise<Map<string, number>>;
  records: Pick<ScheduleRecords, 'load' | 'save' | 'suffixOf'>;
  /** IANA time zone of this machine; without a name, the problem of its setting. */
  zone: { name: string | undefined; problem: string };
  now: () => Date;
  log: Log;
}

/** Schedule of this host, with its state. */
interface Planned {
  /** The text from which it was read. */
  text: string;
  schedule: Schedule;
  occurrences: Occurrences;
  /** When it is due next, in milliseconds since 1970; undefined when it never is, or is paused. */
  next: number | undefined;
}

const DAY_MS = 86_400_000;
/** Least milliseconds by which a clock has to be set back to count as set back; less counts as standing still. */
const SET_BACK_MS = 60_000;

/**
 * The schedules that a host follows: the last good form of each of their files, when it appeared, and the occurrences
 * dealt with. All of it is in the state directory; where nobody uses schedules, no file is read and none is written.
 */
class SchedulesInForce {
  readonly #app: FollowedApp;
  #tip: string | undefined;
  #alias: string | undefined;
  /** The files that were followed last, with their objects. */
  #print = '';
  /** Undefined until there is a schedule. */
  #records: Map<string, ScheduleRecord> | undefined;
  readonly #planned = new Map<string, Planned>();
  readonly #broken: BrokenFiles;
  #beyond = 0;
  #clock = 0;
  /** Whether the records were compared with the history since the start. */
  #isChecked = false;
  /** Whether the records differ from those on disk. */
  #isChanged = false;

  constructor(app: FollowedApp) {
    this.#app = app;
    this.#broken = new BrokenFiles(app.log);
  }

  /** When the first of them is due; undefined where there is none. */
  get next(): number | undefined {
    const all = [...this.#planned.values()].flatMap(({ next }) => next ?? []);
    return all.length === 0 ? undefined : Math.min(...all);
  }

  /** Files that cannot be read, and how many were passed over. */
  get problems(): ScheduleProblem[] {
    const broken = this.#broken.problems;
    const problem = `${String(this.#beyond)} files of local/schedules were passed over: there are too many`;
    // First, as only some of many are shown.
    return this.#beyond === 0 ? broken : [{ schedule: '', problem }, ...broken];
  }

  /** Returns the schedules that are due. */
  due(): { schedule: Schedule; occurrences: Occurrences; record: ScheduleRecord }[] {
    const now = this.#app.now().getTime();
    return [...this.#planned].flatMap(([name, { next = Infinity, ...planned }]) => {
      const record = this.#records?.get(name);
      return next > now || record === undefined ? [] : [{ ...planned, record }];
    });
  }

  /** Up to which time everything is dealt with, in milliseconds since 1970. */
  static dealtWith({ since, last = since }: ScheduleRecord): number {
    return Math.max(Date.parse(since), Date.parse(last));
  }

  /** Records the outcome of an occurrence, and finds out when it is due next. {@link keep} makes the record durable. */
  dealt(name: string, record: ScheduleRecord): void {
    if (this.#records === undefined) return;
    this.#records.set(name, record);
    this.#plan(name, record);
    this.#isChanged = true;
  }

  /** Makes the records durable; what cannot be written now is written by {@link follow}. */
  async keep(): Promise<void> {
    if (this.#isChanged) await this.#save();
  }

  /** Plans a schedule anew after its look led to nothing: it is due at its next occurrence. */
  planAgain(name: string): void {
    const record = this.#records?.get(name);
    if (record !== undefined) this.#plan(name, record);
  }

  /** Follows the files of a commit, and the clock. */
  async follow(alias: string, tip: string): Promise<void> {
    const { files: read, now } = this.#app;
    if (this.#tip !== tip || this.#alias !== alias) {
      const { files, beyond } = await read(tip, () => this.#load());
      this.#beyond = beyond;
      const print = files.map(({ path, oid }) => `${path} ${oid}`).join();
      const isSame = this.#isChecked && print === this.#print && this.#alias === alias;
      if (files.length > 0) await this.#load();
      if (this.#records !== undefined && !isSame)
        await this.#update(alias, tip, files, this.#records);
      [this.#tip, this.#alias, this.#print] = [tip, alias, print];
    }
    const clock = now().getTime();
    if (clock + SET_BACK_MS < this.#clock)
      for (const name of this.#planned.keys()) this.planAgain(name);
    this.#clock = clock;
    await this.keep();
  }

  async #load(): Promise<Map<string, ScheduleRecord>> {
    return (this.#records ??= await this.#app.records.load());
  }

  async #save(): Promise<void> {
    await this.#app.records.save(this.#records ?? new Map());
    this.#isChanged = false;
  }

  async #update(
    alias: string,
    tip: string,
    files: readonly ScheduleFile[],
    records: Map<string, ScheduleRecord>,
  ): Promise<void> {
    const broken = this.#broken.begin();
    const kept = new Set<string>();
    const takings: Taking[] = [];
    for (const file of files) {
      const { name, text, result } = file;
      const known = records.get(name);
      if (!result.ok) {
        const isKnown = known !== undefined && hostNamedIn(known.text) === alias;
        if (isKnown) kept.add(name);
        broken.note(alias, file, result.problems, isKnown);
      } else if (result.value.host === alias) {
        kept.add(name);
        const isFollowed = zoneOf(result.value, this.#app.zone.name) !== undefined;
        if (!isFollowed)
          broken.note(alias, file, [`${this.#app.zone.problem}; add a timezone`], isFollowed);
        if (known?.text !== text || !this.#isChecked)
          takings.push({ file, schedule: result.value, known });
      }
    }
    const now = this.#app.now();
    const written = await this.#written(tip, takings, now);
    for (const taking of takings) {
      const { name, path } = taking.file;
      const record = recordOf(taking, written.get(path), now);
      if (record === taking.known) continue;
      records.set(name, record);
      this.#plan(name, record);
      this.#isChanged = true;
      const next = this.#planned.get(name)?.next;
      this.#app.log('schedule_loaded', {
        schedule: name,
        path,
        ...(next !== undefined && { next: new Date(next).toISOString() }),
      });
    }
    for (const name of [...records.keys()])
      if (!kept.has(name)) {
        this.#isChanged = records.delete(name);
        this.#planned.delete(name);
      }
    for (const [name, record] of records) if (!this.#planned.has(name)) this.#plan(name, record);
    this.#isChecked = true;
  }

  /** When some files were last written: one walk through the history for all, however many there are. */
  async #written(tip: string, takings: readonly Taking[], now: Date): Promise<Map<string, number>> {
    if (takings.length === 0) return new Map();
    const since = Math.min(...takings.map((taking) => reachOf(taking, now)));
    const paths = takings.map(({ file }) => file.path);
    return this.#app.committedSince(tip, paths, new Date(since));
  }

  #plan(name: string, record: ScheduleRecord): void {
    const before = this.#planned.get(name);
    const planned = before?.text === record.text ? before : this.#parsed(name, record);
    if (planned === undefined) {
      this.#planned.delete(name);
      return;
    }
    const after = SchedulesInForce.dealtWith(this.#corrected(name, record));
    const next = planned.schedule.enabled ? planned.occurrences.after(after) : undefined;
    this.#planned.set(name, { ...planned, next });
  }

  #parsed(name: string, { text }: ScheduleRecord): Omit<Planned, 'next'> | undefined {
    const parsed = parseSchedule(text, name);
    if (!parsed.ok) return undefined;
    const schedule = parsed.value;
    const zone = zoneOf(schedule, this.#app.zone.name);
    if (zone === undefined) return undefined;
    return { text, schedule, occurrences: new Occurrences(schedule, zone) };
  }

  /**
   * Corrects a record that a clock far ahead has made: an occurrence that was sent much later than now counts as
   * never sent. Where the clock was ahead by less, the schedule waits until that time comes again.
   */
  #corrected(name: string, record: ScheduleRecord): ScheduleRecord {
    const now = this.#app.now();
    if (SchedulesInForce.dealtWith(record) <= now.getTime() + DAY_MS) return record;
    const { last, ...rest } = record;
    const corrected = { ...rest, since: now.toISOString() };
    if (last !== undefined) this.#app.log('clock_set_back', { schedule: name, last });
    this.#records?.set(name, corrected);
    this.#isChanged = true;
    return corrected;
  }
}
