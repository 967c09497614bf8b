import type { DispatcherApp } from '../../bus/app.ts';
import { stat } from 'node:fs/promises';
import { accountOf, loginFiles, type AgentAccount } from '../../agents/agents.ts';
import { heldUntil, refusalOf, type Refusal } from '../../agents/refusal.ts';
import { LONGEST_MS } from '../../agents/reset-time.ts';
import { Holds, type Hold } from '../../state/holds.ts';
import type { Job, JobResult } from './job.ts';

/** After this time without a request for the account, an expired hold is forgotten. */
const FORGOTTEN_MS = 24 * 3_600_000;
/** A run that takes this long is really working, so others no longer wait for its end. */
const FINDS_OUT_MS = 120_000;

/**
 * The accounts of agent CLIs that refuse to work at the moment (docs/decisions/13-runs.md).
 *
 * The life of a hold: a run is refused → held until a time → due, through that time, a login or
 * `crosstalk resume` → one run is let through and finds out, while all others still wait → held
 * again, or removed. The hold is on disk before the messages of the refused run go back, so that a
 * restart does not try again.
 */
export class Refusals {
  readonly #app: Pick<DispatcherApp, 'env' | 'now' | 'zone'>;
  readonly #store: Holds;
  /** By account, the job that finds out. */
  readonly #finding = new Map<string, { job: string; since: number }>();
  #holds: Hold[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(app: Pick<DispatcherApp, 'paths' | 'env' | 'now' | 'zone'>) {
    this.#app = app;
    this.#store = new Holds(app.paths.root);
  }

  /** Reads the holds; those of accounts that somebody has logged in to since become due. */
  look(): Promise<void> {
    return this.#inTurn(() => this.#look());
  }

  async #look(): Promise<void> {
    const holds = this.#store;
    const read = await holds.all();
    const now = this.#app.now();
    for (const hold of read) {
      if (Date.parse(hold.until) <= now.getTime() - FORGOTTEN_MS) await holds.swap(hold);
      else if (hold.reason === 'not_logged_in' && isAhead(hold, now) && (await loggedInSince(hold)))
        await holds.swap(hold, { ...hold, until: now.toISOString() });
    }
    this.#holds = read.length === 0 ? read : await holds.all();
  }

  /** Returns the hold that kept a command from starting at the last look. */
  inTheWay(command: string): Hold | undefined {
    const hold = this.#holdOf(command);
    if (hold === undefined) return undefined;
    const now = this.#app.now();
    const { since } = this.#finding.get(hold.id) ?? {};
    const awaited = since !== undefined && now.getTime() - since < FINDS_OUT_MS;
    return isAhead(hold, now) || awaited ? hold : undefined;
  }

  /** Called when a job starts: if the hold of its account has expired, this job finds out. */
  begin({ id, tier }: Job): void {
    const hold = this.#holdOf(tier.cli);
    if (hold !== undefined && !this.#finding.has(hold.id))
      this.#finding.set(hold.id, { job: id, since: this.#app.now().getTime() });
  }

  end({ id }: Job): void {
    for (const [account, { job }] of this.#finding) if (job === id) this.#finding.delete(account);
  }

  /**
   * Evaluates how a job ended: returns the hold by which it was refused, once it is on disk, or
   * undefined.
   */
  learn(job: Job, result: JobResult): Promise<Hold | undefined> {
    return this.#inTurn(() => this.#learn(job, result));
  }

  async #learn(job: Job, result: JobResult): Promise<Hold | undefined> {
    const account = accountOf(job.tier.cli);
    if (account === undefined) return undefined;
    const foundOut = this.#finding.get(account.id)?.job === job.id;
    if (result.kind === 'refused') return this.#hold(account, result.refusal, foundOut);
    // It ended before the CLI could report anything, so the next job finds out.
    const ran = !['stopped', 'gone', 'parked', 'over_budget'].includes(result.kind);
    if (foundOut && ran) {
      await this.#store.remove(account.id);
      this.#holds = await this.#store.all();
    }
    return undefined;
  }

  /** When the next hold expires; undefined when none is in force. */
  next(): Date | undefined {
    const now = this.#app.now();
    const times = this.#holds.filter((hold) => isAhead(hold, now)).map(({ until }) => until);
    const [first] = times.sort();
    return first === undefined ? undefined : new Date(first);
  }

  #holdOf(command: string): Hold | undefined {
    if (this.#holds.length === 0) return undefined;
    const id = accountOf(command)?.id;
    return this.#holds.find((hold) => hold.id === id);
  }

  async #hold(account: AgentAccount, refusal: Refusal, foundOut: boolean): Promise<Hold> {
    const now = this.#app.now();
    const login = await marksOf(loginFiles(account, this.#app.env));
    const hold = await this.#store.write((holds) => {
      const before = holds.get(account.id);
      // Several runs refused at the same time count as one refusal.
      const anew = before === undefined || foundOut;
      const refusals = (before?.refusals ?? 0) + (anew ? 1 : 0);
      const until = heldUntil(refusal, refusals, now).toISOString();
      const made: Hold = {
        id: account.id,
        agent: account.agent.name,
        reason: refusal.kind,
        since: before?.since ?? now.toISOString(),
        until: anew || before.until < until ? until : before.until,
        said: refusal.said,
        refusals,
        login,
      };
      holds.put(made);
      return made;
    });
    this.#holds = await this.#store.all();
    return hold;
  }

  /** Runs changes one after another, as each one reads the file and writes it again. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** Turns a failed run into a refused one, if the CLI refused to work. */
export function refusedIfSo(
  command: string,
  ended: Extract<JobResult, { kind: 'failed' }>,
  now: Date,
  zone: string,
): JobResult {
  const { result, failure } = ended;
  const account = accountOf(command);
  const byItself = failure.reason === 'exit_code' || failure.reason === 'empty_answer';
  if (account === undefined || !byItself) return ended;
  const refusal = refusalOf(account.agent, result, now, zone);
  return refusal === undefined ? ended : { kind: 'refused', refusal, result };
}

/**
 * Whether the hold has not expired; if it seems longer than any hold can be, the clock was set back
 * and it has.
 */
function isAhead({ until }: Hold, now: Date): boolean {
  const left = Date.parse(until) - now.getTime();
  return left > 0 && left <= LONGEST_MS;
}

async function loggedInSince({ login }: Hold): Promise<boolean> {
  const marks = await marksOf(Object.keys(login));
  return Object.entries(marks).some(([path, mark]) => mark !== '' && mark !== login[path]);
}

/** Marks that change when a file is written again; empty for a file that does not exist. */
async function marksOf(paths: readonly string[]): Promise<Record<string, string>> {
  const marks = paths.map(async (path) => {
    const found = await stat(path).catch(() => undefined);
    const mark = found && [found.mtimeMs, found.size, found.ino].join(' ');
    return [path, mark ?? ''] as const;
  });
  return Object.fromEntries(await Promise.all(marks));
}
