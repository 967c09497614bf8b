import type { DispatcherApp } from '../../bus/app.ts';
import type { Claims } from '../../bus/claims.ts';
import type { Publisher } from '../../bus/publisher.ts';
import { reasonOf } from '../../errors.ts';
import {
  beatFile,
  claimFile,
  claimFolder,
  claimPlace,
  fenceOf,
  formatBeat,
  formatClaim,
  formatEnd,
  parseEnd,
  type Claimed,
} from '../../protocol/claim.ts';
import type { ClaimStep } from '../../state/dead-letters.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { ClaimQueue } from './claim-queue.ts';
import {
  claimCommit,
  endingFile,
  waitingFile,
  WAITING_LEASE_MS,
  type Ending,
  type OwnClaim,
} from './fence.ts';
import type { PoolFacts } from './pool-facts.ts';
import { PushTimes } from './push-times.ts';

/** A claim of this process under its lease. */
interface Held {
  claim: OwnClaim;
  /** The file of the claim. */
  text: string;
  /** Milliseconds. */
  lease: number;
  /** Times before the last push that the remote took, by two clocks: the larger one counts. */
  wall: number;
  mono: number;
  waits: boolean;
  isBeating: boolean;
  /** Ends its run. */
  abandon: (() => void) | undefined;
}

/** Two readings of the clock, before a push. */
interface Before {
  wall: number;
  mono: number;
}

export interface LeasesApp {
  app: Pick<DispatcherApp, 'log' | 'now' | 'newId' | 'outbox'>;
  publisher: Pick<Publisher, 'publish'>;
  queue: ClaimQueue;
  facts: PoolFacts;
  /** Removes what is on record of a message whose claim this machine has ended. */
  forget: (key: string) => Promise<void>;
  /** Milliseconds of a clock that nobody sets. */
  monotonic: () => number;
}

/** Returns what becomes of a claim at the end of its run; `waits` where its thread goes on later. */
export type EndingOf = (claim: OwnClaim) => Ending | 'waits';

/** Share of a lease after which a run is ended whose claim could not be renewed: others may take over at its end. */
const LAST = 0.9;

/** The claims of this process: their beats, their ends, and the end of runs that have lost theirs. */
export class Leases {
  readonly #parts: LeasesApp;
  readonly #held = new Map<string, Held>();
  /** Times of the pushes by which claims are made and renewed. */
  readonly pushes = new PushTimes();
  /** Runs that are over, by folder of claims, until the bus shows their end or another claim. */
  readonly #ended = new Map<string, OwnClaim>();

  constructor(parts: LeasesApp) {
    this.#parts = parts;
  }

  /** Returns the claim that this process has of a message. */
  get(of: Claimed): OwnClaim | undefined {
    return this.#held.get(claimFolder(of))?.claim;
  }

  /** Whether a run of this process is over, though the bus may not show it yet. */
  hasEnded(of: Claimed, run: string): boolean {
    return this.#ended.get(claimFolder(of))?.run === run;
  }

  /** Goes on with a claim that waited for others. */
  resume(of: Claimed, abandon: (() => void) | undefined): OwnClaim | undefined {
    const held = this.#held.get(claimFolder(of));
    if (held === undefined) return undefined;
    Object.assign(held, { abandon, waits: false });
    return held.claim;
  }

  /** Returns the readings of the clocks from which a lease counts. */
  clocks(): Before {
    return { wall: this.#parts.app.now().getTime(), mono: this.#parts.monotonic() };
  }

  /** Takes on a claim that the remote's tip shows. @param before the readings before its push */
  begin(
    of: Claimed,
    { claim, n, oids, attempts }: Claims,
    before: Before,
    abandon: (() => void) | undefined,
  ): OwnClaim {
    const { actor, channel, relPath } = of;
    const own = { actor, channel, relPath, host: claim.host, n, oids, run: claim.run, attempts };
    const state = { text: formatClaim(claim), waits: false, isBeating: false, abandon };
    this.#held.set(claimFolder(of), { claim: own, lease: claim.lease, ...before, ...state });
    return own;
  }

  /** Returns what claims add to what is published at the end of their run. */
  closing(claims: readonly OwnClaim[], endingOf: EndingOf): ClaimStep {
    const at = this.#parts.app.now().toISOString();
    const files = claims.map((claim) => {
      const ending = endingOf(claim);
      return ending === 'waits' ? waitingFile(claim, at) : endingFile(claim, ending, at);
    });
    return { requires: fenceOf(claims), files };
  }

  /**
   * Publishes the ends of claims alone, where nothing else is published with them; durable on return.
   *
   * @returns the push, wrapped in an object, as `await` would wait for it
   */
  async end(claims: readonly OwnClaim[], endingOf: EndingOf): Promise<{ push?: Promise<void> }> {
    const own = claims.filter((claim) => this.get(claim)?.run === claim.run);
    const [first] = own;
    if (first === undefined) return {};
    const push = await this.#put(first.host, `${first.host} is done`, this.closing(own, endingOf));
    await this.over(own, endingOf);
    return { push: push() };
  }

  /** Puts a commit of claims' files into the outbox; returns the function that publishes it. */
  async #put(host: string, subject: string, step: ClaimStep): Promise<() => Promise<void>> {
    const { app, publisher } = this.#parts;
    const id = app.newId();
    const at = app.now().toISOString();
    await app.outbox.put({ id, commits: [claimCommit(host, at, subject, step)] });
    return async () => {
      await publisher.publish(id).catch((error: unknown) => {
        app.log('internal_error', { error: reasonOf(error) });
      });
    };
  }

  /** Ends the claims of an answer that is held here for a person to decide about. */
  async heldBack({ commits }: OutboxEntry): Promise<void> {
    const { app, facts } = this.#parts;
    const at = app.now().toISOString();
    const files = commits
      .flatMap((commit) => commit.files)
      .flatMap(({ path, content }) => {
        const end = claimPlace(path)?.kind === 'end' ? parseEnd(content) : undefined;
        if (end?.ok !== true) return [];
        return [{ path, content: formatEnd({ end: 'held', run: end.value.run, at }) }];
      });
    if (files.length === 0) return;
    const requires = commits[0]?.requires ?? [];
    const push = await this.#put(facts.host, `${facts.host} holds an answer back`, {
      requires,
      files,
    });
    await push();
  }

  /** Notes that a run is over, with what became of its claims. */
  async over(claims: readonly OwnClaim[], endingOf: EndingOf): Promise<void> {
    for (const claim of claims) {
      const key = claimFolder(claim);
      const held = this.#held.get(key);
      if (held?.claim.run !== claim.run) continue;
      if (endingOf(claim) === 'waits') {
        const waiting = { waits: true, lease: WAITING_LEASE_MS, abandon: undefined };
        Object.assign(held, waiting, this.clocks());
        continue;
      }
      this.#held.delete(key);
      this.#ended.set(key, held.claim);
      await this.#parts.forget(key);
    }
  }

  /** Renews claims, and ends runs whose claim was overtaken or whose lease could not be renewed in time. */
  async look(): Promise<void> {
    const { facts } = this.#parts;
    for (const [key, claim] of this.#ended) {
      const now = await facts.claimsOf(claim);
      if (now?.claim.run === claim.run && now.end === undefined) continue;
      this.#ended.delete(key);
      facts.drop(key);
    }
    for (const [key, held] of this.#held) {
      const { claim } = held;
      const now = await facts.claimsOf(claim);
      const isOvertaken =
        now !== undefined &&
        (now.n > claim.n || (now.n === claim.n && now.claim.run !== claim.run));
      const since = this.#since(held);
      // A run finds out by its fence; nothing else would tell a thread that waits.
      const isEnded = held.waits && now?.end !== undefined;
      if (isOvertaken || isEnded) {
        this.#lose(key, held, `another host has ${isEnded ? 'ended ' : ''}it`);
        await this.#parts.forget(key);
      } else if (since > held.lease * LAST) this.#lose(key, held, 'its lease could not be renewed');
      else if (held.isBeating) continue;
      // A history that was set back has lost it.
      else if ((now?.n ?? 0) === claim.n - 1) void this.#beat(held, claimFile(claim, claim.n));
      else if (since > held.lease / 3) void this.#beat(held);
    }
  }

  #since({ wall, mono }: Held): number {
    const now = this.clocks();
    return Math.max(now.wall - wall, now.mono - mono);
  }

  #lose(key: string, held: Held, reason: string): void {
    const { actor, channel, relPath: message, n } = held.claim;
    this.#parts.app.log('claim_lost', { actor, channel, message, n, reason });
    this.#held.delete(key);
    held.abandon?.();
  }

  /** @param lost the path of the claim, if it has to come back */
  async #beat(held: Held, lost?: string): Promise<void> {
    const { app, queue, publisher } = this.#parts;
    const { claim, lease, waits } = held;
    const at = app.now().toISOString();
    const before = this.clocks();
    const beat = { run: claim.run, at, ...(waits && { waits: true as const, lease }) };
    const files = [
      ...(lost === undefined ? [] : [{ path: lost, content: held.text }]),
      { path: beatFile(claim, claim.n), content: formatBeat(beat) },
    ];
    const step = { requires: fenceOf([claim]), files };
    const id = app.newId();
    held.isBeating = true;
    queue.put({ id, commits: [claimCommit(claim.host, at, `${claim.host} goes on`, step)] });
    try {
      const { published } = await publisher.publish(id);
      if (!published) return;
      this.pushes.note(this.clocks().mono - before.mono);
      Object.assign(held, before);
    } catch (error) {
      app.log('internal_error', { error: reasonOf(error) });
    } finally {
      await queue.remove(id);
      held.isBeating = false;
    }
  }

  /** Returns when beats are due, in milliseconds since 1970. */
  due(): number[] {
    const now = this.#parts.app.now().getTime();
    return [...this.#held.values()].map((held) => now + held.lease / 3 - this.#since(held));
  }
}
