import { setTimeout as sleep } from 'node:timers/promises';
import type { DispatcherApp } from '../../bus/app.ts';
import type { Claims } from '../../bus/claims.ts';
import type { Publisher } from '../../bus/publisher.ts';
import {
  claimFolder,
  isLastWord,
  mayBeRetried,
  type Claim,
  type Claimed,
} from '../../protocol/claim.ts';
import { placeOfRef } from '../../protocol/layout.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import { ClaimRecords } from '../../state/claims.ts';
import type { ClaimStep, DeadLetter } from '../../state/dead-letters.ts';
import type { Deliveries } from '../intake/deliveries.ts';
import type { Arrived } from '../extras/extras.ts';
import { Attempts } from './attempts.ts';
import type { ClaimQueue } from './claim-queue.ts';
import {
  abandoning,
  endedClaim,
  nextClaim,
  type Claiming,
  type Ending,
  type OwnClaim,
  type Won,
} from './fence.ts';
import { Leases } from './leases.ts';
import { PoolFacts, type PoolMail } from './pool-facts.ts';
import { PutOff } from './put-off.ts';
import { Watches } from './watches.ts';

/** Longest wait before a claim, in milliseconds, for hosts that have less to do. */
const LONGEST_WAIT_MS = 400;
/** Number of own runs at which this host waits the longest. */
const BUSY = 4;
const CANCELLED: Ending = { end: 'cancelled' };

interface PoolsApp {
  app: Pick<
    DispatcherApp,
    | 'transport'
    | 'reader'
    | 'log'
    | 'paths'
    | 'now'
    | 'random'
    | 'newId'
    | 'secret'
    | 'outbox'
    | 'deadLetters'
  >;
  publisher: Pick<Publisher, 'publish'>;
  queue: ClaimQueue;
  deliveries: Pick<Deliveries, 'settle' | 'cursors'>;
  /** Milliseconds. @param pushMs time that all but one of twenty pushes take at most */
  lease: (pushMs: number) => number;
  /** Milliseconds of a clock that nobody sets. */
  monotonic: () => number;
  /** Makes the letter of a message whose host is gone. */
  abandoned: (
    delivery: Pick<DeadLetter, 'actor' | 'channel' | 'messages'>,
    claim: Pick<Claim, 'host' | 'at'>,
  ) => DeadLetter;
}

/**
 * Pools (pools.md): of all hosts that serve an actor with `serve: one`, one takes each message, by a claim that
 * `git push` decides. It holds deliveries back that others have, and claims those that a run is about to start for.
 */
export class Pools {
  readonly #parts: PoolsApp;
  /** Names this start of the dispatcher. */
  readonly #start: string;
  readonly #facts: PoolFacts;
  readonly leases: Leases;
  readonly #attempts: Attempts;
  readonly #watches: Watches;
  readonly #putOff: PutOff;
  /** By folder of claims: pushes that may have succeeded unseen, with the clocks before them. */
  readonly #unseen = new Map<string, { run: string } & ReturnType<Leases['clocks']>>();
  /** Claims on their way, by folder. */
  readonly #taking = new Map<string, Promise<unknown>>();

  constructor(parts: PoolsApp) {
    const { app, publisher, queue, monotonic } = parts;
    this.#parts = parts;
    this.#start = app.secret(8);
    this.#facts = new PoolFacts(app);
    const records = new ClaimRecords(app.paths.root);
    this.#attempts = new Attempts(records);
    this.#putOff = new PutOff(app.now);
    this.#watches = new Watches(records, { now: app.now, monotonic });
    const forget = this.#drop.bind(this);
    this.leases = new Leases({ app, publisher, queue, facts: this.#facts, forget, monotonic });
  }

  /** Notes what a scan has found. */
  async follow({ host, tip, scan, isNews }: Arrived): Promise<void> {
    if (isNews) this.#watches.asked();
    // The commits from which mail may still wait, at a start.
    const since = (): Promise<readonly string[]> => this.#parts.deliveries.cursors();
    if (!(await this.#facts.follow(host, tip, scan, since))) return;
    await this.#attempts.load();
    await this.#watches.load();
  }

  /** Whether a delivery gets a run of its own: a claim is for one message. */
  isAlone(delivery: Delivery): boolean {
    return this.#facts.isContested(delivery);
  }

  /**
   * Returns those of some deliveries that may run here, or be claimed; others wait for the host that has them, or
   * are settled, as another host answers them.
   */
  async ready(tip: string, messages: Delivery[]): Promise<Delivery[]> {
    const mayNeed = ({ actor, message }: Delivery): boolean =>
      this.#facts.mayConcern(actor, message);
    const mayConcern = (one: Delivery): boolean =>
      mayNeed(one) || (one.message.re.length > 0 && this.#facts.mayBelong(one.actor));
    if (!messages.some(mayConcern)) return messages;
    const found: Delivery[] = [];
    await this.#facts.learn(messages.filter(mayNeed));
    for (const one of messages) {
      const judged = mayConcern(one) ? await this.#judge(tip, one) : 'here';
      if (judged === 'here') found.push(one);
      if (judged === 'elsewhere') {
        await this.#drop(claimFolder(one));
        await this.#parts.deliveries.settle(one.actor, one.channel, [one.relPath]);
      }
    }
    return this.#facts.inTurn(found);
  }

  async #judge(tip: string, one: Delivery): Promise<'here' | 'elsewhere' | 'later'> {
    const { actor, channel, message } = one;
    const isNarrowed = message.to.some((to) => to.name === actor && to.host !== undefined);
    if (message.re.length > 0) return this.#ofThread(tip, one, { isNarrowed });
    if (isNarrowed) return 'here';
    if (message.steers !== undefined) {
      const target = { actor, channel, relPath: message.steers };
      const about = await this.#facts.claimsOf(target);
      if (about !== undefined && this.#isOpen(target, about))
        return this.#isMine(target, about) ? 'here' : 'elsewhere';
    }
    const right = await this.#facts.rightTo(one);
    if (right !== 'contested') return right === 'free' ? 'here' : 'elsewhere';
    const key = claimFolder(one);
    if (this.#putOff.has(key)) return 'later';
    const claims = await this.#facts.claimsOf(one);
    if (claims === undefined || this.#isMine(one, claims)) return 'here';
    if (claims.over !== undefined) return 'elsewhere';
    if (claims.end === undefined) {
      if (!this.#watches.hasRunOut(key, claims)) return 'later';
      if (claims.beat?.waits !== true) return 'here';
      await this.#abandon(one, claims);
      return 'elsewhere';
    }
    return this.#putOff.byRelease(key, claims) ? 'later' : 'here';
  }

  /**
   * Determines whose a reply is: a thread belongs to the host that wrote what is answered, while no other has claimed
   * the question behind it.
   */
  async #ofThread(
    tip: string,
    { actor, channel, message }: Delivery,
    { isNarrowed }: { isNarrowed: boolean },
  ): Promise<'here' | 'elsewhere' | 'later'> {
    const answered = await Promise.all(
      message.re.map((ref) => {
        const place = placeOfRef(channel, ref);
        return this.#parts.app.reader.message(tip, place.channel, place.relPath);
      }),
    );
    // Plain 6.0 may have written one without its host: then it is nobody else's.
    const own = answered.filter((by) => by?.from === actor && by.host !== undefined);
    const here = own.filter((by) => by?.host === this.#facts.host);
    const isTheirs = own.length > here.length && !isNarrowed;
    if (here.length === 0)
      return isTheirs && this.#facts.mayConcern(actor, message) ? 'elsewhere' : 'here';
    for (const key of here.flatMap((by) => by?.cause ?? [])) {
      const of = { actor, ...placeOfRef(channel, key) };
      const claims = await this.#facts.claimsOf(of);
      if (claims === undefined || claims.over !== undefined || this.#isMine(of, claims)) continue;
      if (!this.#isFree(claimFolder(of), claims, { isByHand: false })) return 'later';
    }
    return 'here';
  }

  /**
   * Whether a claim is of this start, or of one before it on this machine, which is dead; one whose end is on its way
   * is not any more.
   */
  #isMine(of: Claimed, claims: Claims): boolean {
    const { run } = claims.claim;
    const isOurs = run.startsWith(`${this.#start}.`) || this.#attempts.isEarlier(of, run);
    return isOurs && this.#isOpen(of, claims);
  }

  #isOpen(of: Claimed, { claim, end }: Claims): boolean {
    return end === undefined && !this.leases.hasEnded(of, claim.run);
  }

  #isFree(key: string, claims: Claims, { isByHand }: { isByHand: boolean }): boolean {
    const { over, end, beat } = claims;
    if (over !== undefined && !(isByHand && mayBeRetried(over.end))) return false;
    // Only its own host goes on with a thread that waits for others.
    return end !== undefined || (beat?.waits !== true && this.#watches.hasRunOut(key, claims));
  }

  /**
   * Gives up a thread whose host is gone while others owe it answers: what it has handed out cannot be gathered here,
   * so its asker receives a notice, from one of the hosts that watch.
   */
  async #abandon(one: Delivery, claims: Claims): Promise<void> {
    const { app, abandoned } = this.#parts;
    const { actor, channel, relPath } = one;
    const of = { actor, channel, relPath };
    const letter = abandoned({ actor, channel, messages: [relPath] }, claims.claim);
    await app.deadLetters.putToTell(letter, abandoning(of, claims, app.now().toISOString()));
    app.log('dead_letter', { id: letter.id, ...of, reason: letter.reason });
  }

  /**
   * Claims the mail of a job that is about to start, and waits until the remote's tip has the claims.
   *
   * @param running number of other runs under way here
   * @param isByHand whether a person has retried it, so that it runs although it has failed for good
   */
  async claim(job: Claiming, running: number, isByHand: boolean): Promise<Won> {
    const { actor, channel, messages, questions = [] } = job;
    const claims: OwnClaim[] = [];
    const all = messages.map((relPath) => ({ actor, channel, relPath }));
    const isFree = questions.length === 0 && all.every((of) => this.#facts.isFree(of));
    const mayNeed = this.#facts.mayBelong(actor) || all.some((of) => this.#facts.isContested(of));
    if (isFree || !mayNeed) return { ok: true, claims };
    for (const of of await this.#toClaim(job)) {
      const won = await this.#claimOne(of, running, isByHand, job.abandon);
      if ('isOver' in won) {
        // Nothing runs for the others either, whose threads wait on.
        await this.leases.end(claims, () => 'waits');
        if (won.isOver) await this.#drop(claimFolder(of));
        return { ok: false, isOver: won.isOver };
      }
      claims.push(won);
    }
    return { ok: true, claims };
  }

  /** Returns the questions of a job for which it needs a claim; one that has ended for good is refused then. */
  async #toClaim({ actor, channel, messages, questions = [] }: Claiming): Promise<Claimed[]> {
    const found: Claimed[] = [];
    for (const key of questions) {
      const of = { actor, ...placeOfRef(channel, key) };
      const claims = await this.#facts.claimsOf(of);
      // What comes after this host's own answer needs no claim.
      const { end = 'released' } = claims?.end ?? {};
      const isOwn = claims?.claim.host === this.#facts.host;
      const isDone = isOwn && isLastWord(end) && !mayBeRetried(end);
      if (claims !== undefined && !isDone) found.push(of);
    }
    const { reader } = this.#parts.app;
    for (const { relPath, message } of await reader.messages(this.#facts.tip, channel, messages)) {
      if (message.re.length > 0 || !this.#facts.mayConcern(actor, message)) continue;
      const about = { actor, channel, relPath: message.steers ?? relPath };
      const steered = message.steers === undefined ? undefined : await this.#facts.claimsOf(about);
      const of = { actor, channel, relPath };
      if (steered !== undefined && this.#isMine(about, steered)) found.push(about);
      else if ((await this.#facts.rightTo({ ...of, message })) === 'contested') found.push(of);
    }
    return [...new Map(found.map((of) => [claimFolder(of), of])).values()];
  }

  async #claimOne(
    of: Claimed,
    running: number,
    isByHand: boolean,
    abandon: (() => void) | undefined,
  ): Promise<OwnClaim | { isOver: boolean }> {
    const own = this.leases.resume(of, abandon);
    if (own !== undefined) return own;
    const before = await this.#facts.claimsOf(of);
    const isMine = before !== undefined && this.#isMine(of, before);
    if (before !== undefined && !isMine && !this.#isFree(claimFolder(of), before, { isByHand }))
      return { isOver: before.over !== undefined };
    const unseen = this.#unseen.get(claimFolder(of));
    // A push whose end was not known here has succeeded. Any other claim of this start has lost its lease.
    if (isMine && before.claim.run === unseen?.run) {
      this.#unseen.delete(claimFolder(of));
      return this.leases.begin(of, before, unseen, abandon);
    }
    const wait = Math.min(1, running / BUSY) * LONGEST_WAIT_MS * this.#parts.app.random();
    // Whoever tried it last has its worktree.
    const isHere = before?.claim.host === this.#facts.host;
    const taking = sleep(isHere ? 0 : wait).then(() => this.#take(of, before, abandon));
    const taken = taking.catch(() => undefined);
    this.#taking.set(claimFolder(of), taken);
    return taking.finally(() => this.#taking.delete(claimFolder(of)));
  }

  /** Pushes the next claim of a message; git decides who is first. */
  async #take(
    of: Claimed,
    before: Claims | undefined,
    abandon: (() => void) | undefined,
  ): Promise<OwnClaim | { isOver: boolean }> {
    const { app, queue, publisher } = this.#parts;
    const { actor, channel, relPath: message } = of;
    const key = claimFolder(of);
    const { commit, claim } = nextClaim(of, before, this.#byNow());
    const { run, n } = claim;
    const id = app.newId();
    const clocks = this.leases.clocks();
    await this.#attempts.begin(of, run);
    this.#unseen.set(key, { run, ...clocks });
    queue.put({ id, commits: [commit] });
    const outcome = await publisher.publish(id).finally(() => queue.remove(id));
    const now = await this.#facts.claimsNow(of);
    // A person's retry comes after the last word.
    const isOver = now?.over !== undefined && before?.over === undefined;
    if (now?.claim.run === run && now.end === undefined && !isOver) {
      this.leases.pushes.note(this.leases.clocks().mono - clocks.mono);
      this.#unseen.delete(key);
      app.log('claimed', { actor, channel, message, n });
      return this.leases.begin(of, now, clocks, abandon);
    }
    const reason = outcome.published ? 'another host was first' : outcome.failure.reason;
    app.log('claim_lost', { actor, channel, message, n, reason });
    // Whether it was pushed may show later, to the next start as well.
    if ((now?.n ?? 0) < n) this.#putOff.retry(key);
    else await this.#attempts.lose(key);
    return { isOver: now?.over !== undefined };
  }

  /**
   * Returns what the notice of a cancelled message adds, so that of all hosts one writes it; undefined where each does.
   */
  async cancelling(one: PoolMail): Promise<ClaimStep | 'elsewhere' | undefined> {
    const { actor, message } = one;
    if (message.re.length > 0 || !this.#facts.mayConcern(actor, message)) return undefined;
    const right = await this.#facts.rightTo(one);
    if (right !== 'contested') return right === 'free' ? undefined : 'elsewhere';
    // A claim on its way would have the notice left out.
    await this.#taking.get(claimFolder(one));
    const own = this.leases.get(one);
    if (own !== undefined) return this.leases.closing([own], () => CANCELLED);
    const before = await this.#facts.claimsOf(one);
    const isTheirs = before !== undefined && !this.#isMine(one, before);
    if (isTheirs && !this.#isFree(claimFolder(one), before, { isByHand: false }))
      return 'elsewhere';
    return endedClaim(one, before, this.#byNow(), CANCELLED);
  }

  /** Notes that the notice of a cancelled message, which ends its claim, is on record: its run need not end it. */
  async cancelled(one: Claimed): Promise<void> {
    const own = this.leases.get(one);
    if (own !== undefined) await this.leases.over([own], () => CANCELLED);
    await this.#drop(claimFolder(one));
  }

  #byNow(): Claim {
    const { app, lease } = this.#parts;
    const run = `${this.#start}.${app.newId()}`;
    return {
      host: this.#facts.host,
      run,
      lease: lease(this.leases.pushes.p95),
      at: app.now().toISOString(),
    };
  }

  /** Forgets a message whose claims are over. */
  async #drop(key: string): Promise<void> {
    this.#facts.drop(key);
    this.#putOff.drop(key);
    this.#watches.drop(key);
    this.#unseen.delete(key);
    await this.#attempts.drop(key);
  }

  /** Returns the time at which something of this is due without news. */
  next(): Date | undefined {
    const now = this.#parts.app.now().getTime();
    const times = [...this.leases.due(), ...this.#watches.ends(), ...this.#putOff.times()];
    const ahead = times.filter((time) => time > now);
    return ahead.length === 0 ? undefined : new Date(Math.min(...ahead));
  }
}
