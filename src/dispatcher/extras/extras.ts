import type { ActiveHost } from '../../bus/approvals.ts';
import type { ItemErrors } from '../../bus/stalled-jobs.ts';
import { reasonOf } from '../../errors.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import type { Scan } from '../intake/scan.ts';

/** Facts of a tick, once its new mail was taken in. */
export interface Arrived {
  host: ActiveHost;
  tip: string;
  /** Findings between the last tip and this one; undefined at the first. */
  scan: Scan | undefined;
  /** Whether the remote has answered with this tip. */
  isNews: boolean;
}

/** Facts about a job that is about to run. */
export interface Starting {
  /** Number of other runs under way here. */
  running: number;
  /** Dead letter of the attempt that failed before. */
  letter: DeadLetter | undefined;
}

/**
 * One feature of the dispatcher, called at the points that it names; without it the others work as before
 * (docs/contributing.md).
 *
 * `candidates` and `beforeRun` are guards: they can only keep mail from running. If one throws, takes longer than
 * `patience`, or its extra could not read the last news, the mail waits, and `status` names the extra. The others are
 * observers: if one throws, that is logged and shown, and the step goes on. `Job` is what a run works on, and
 * `JobResult` its outcome.
 */
export interface Extra<Job, JobResult> {
  readonly name: string;
  /** Milliseconds that a guard may take; 5 s unless it waits for the remote. */
  readonly patience?: number;
  /** Observer. Called in each tick, after new mail was taken in and before anything starts. */
  ingest?: (news: Arrived) => Promise<void>;
  /** Observer. Called before mail is looked through for runs that may start, also between ticks. */
  look?: () => Promise<void>;
  /**
   * Guard. Returns those deliveries of one mailbox that may run now; others stay there, unless the extra has settled
   * them.
   */
  candidates?: (tip: string, messages: Delivery[]) => Promise<Delivery[]>;
  /** Whether a delivery gets a run of its own. */
  isAlone?: (delivery: Delivery) => boolean;
  /** Guard. Called in a job before its CLI starts; returns the result of the job if nothing is to run. */
  beforeRun?: (job: Job, starting: Starting) => Promise<JobResult | undefined>;
  /**
   * Observer. Called when the outcome of a job is on record, with the keys of the messages that its run has written;
   * undefined if it came to nothing.
   */
  afterRun?: (job: Job, written: readonly string[] | undefined) => Promise<void>;
  /** Time at which it has something to do although no news comes. */
  next?: () => Date | undefined;
  /** Returns the part of the heartbeat that `crosstalk status` shows of it. */
  report?: () => Partial<Heartbeat>;
  /** Observer. Called at the end of the dispatcher, when no run is under way. */
  stop?: () => Promise<void>;
}

const PATIENCE_MS = 5000;

/** The extras of a dispatcher, in the order in which they are called; ends are called in reverse. */
export class Extras<Job, JobResult> {
  readonly #made: readonly Extra<Job, JobResult>[];
  readonly #errors: ItemErrors;
  /** Extras whose last `ingest` has failed, by name, with the reason. */
  readonly #behind = new Map<string, string>();

  /** @param errors shows what observers could not do */
  constructor(all: readonly Extra<Job, JobResult>[], errors: ItemErrors) {
    this.#made = all;
    this.#errors = errors;
  }

  /** In the order in which they are called. */
  get all(): readonly Extra<Job, JobResult>[] {
    return this.#made;
  }

  /**
   * Makes sure that the extras are there which some mail needs.
   *
   * @param needs by name of an extra, whether the mail needs it; asked only where it is not there
   * @throws Error naming the first that is not there, so that the mail waits
   */
  async require(needs: Record<string, () => boolean | Promise<boolean>>): Promise<void> {
    const names = new Set(this.all.map(({ name }) => name));
    for (const [name, isNeeded] of Object.entries(needs))
      if (!names.has(name) && (await isNeeded()))
        throw new Error(`it needs the extra ${name}, which is not there`);
  }

  async ingest(news: Arrived): Promise<void> {
    for (const extra of this.all) {
      if (extra.ingest === undefined) continue;
      await this.#errors.try(extra.name, async () => {
        try {
          await extra.ingest?.(news);
          this.#behind.delete(extra.name);
        } catch (error) {
          this.#behind.set(extra.name, reasonOf(error));
          throw error;
        }
      });
    }
    this.#errors.endRound();
  }

  async look(): Promise<void> {
    for (const extra of this.all) await this.#observed(extra, extra.look);
  }

  /** @throws Error naming the guard that could not decide, so that the mail waits */
  async candidates(tip: string, messages: Delivery[]): Promise<Delivery[]> {
    let left = messages;
    for (const extra of this.all) {
      const { candidates } = extra;
      if (candidates !== undefined)
        left = await this.#guarded(extra, () => candidates.call(extra, tip, left));
    }
    return left;
  }

  isAlone(delivery: Delivery): boolean {
    return this.all.some((extra) => extra.isAlone?.(delivery));
  }

  /** @throws Error naming the guard that could not decide, so that the mail waits */
  async beforeRun(job: Job, starting: Starting): Promise<JobResult | undefined> {
    for (const extra of this.all) {
      const { beforeRun } = extra;
      if (beforeRun === undefined) continue;
      const ended = await this.#guarded(extra, () => beforeRun.call(extra, job, starting));
      if (ended !== undefined) return ended;
    }
    return undefined;
  }

  async afterRun(job: Job, written: readonly string[] | undefined): Promise<void> {
    for (const extra of this.all.toReversed())
      await this.#observed(extra, extra.afterRun && (() => extra.afterRun?.(job, written)));
  }

  /** Returns the first time after `now` at which one of them has something to do. */
  next(now: Date): Date | undefined {
    const times = this.all.flatMap((extra) => extra.next?.() ?? []);
    return times.filter((time) => time > now).sort((a, b) => Number(a) - Number(b))[0];
  }

  report(): Partial<Heartbeat> {
    return Object.assign({}, ...this.all.map((extra) => extra.report?.())) as Partial<Heartbeat>;
  }

  async stop(): Promise<void> {
    for (const extra of this.all.toReversed()) await this.#observed(extra, extra.stop);
  }

  async #observed(
    extra: Extra<Job, JobResult>,
    step: (() => Promise<void> | undefined) | undefined,
  ): Promise<void> {
    if (step !== undefined) await this.#errors.try(extra.name, async () => step.call(extra));
  }

  async #guarded<T>(extra: Extra<Job, JobResult>, step: () => Promise<T>): Promise<T> {
    const behind = this.#behind.get(extra.name);
    if (behind !== undefined) throw new Error(`${extra.name} could not read the news: ${behind}`);
    const { patience = PATIENCE_MS } = extra;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`took more than ${String(patience / 1000)} s`));
      }, patience);
    });
    try {
      // One that throws at once is an error with its name, too.
      return await Promise.race([step(), late]);
    } catch (error) {
      throw new Error(`${extra.name}: ${reasonOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}
