import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DispatcherApp } from '../../bus/app.ts';
import type { Claims } from '../../bus/claims.ts';
import type { Publisher } from '../../bus/publisher.ts';
import {
  beatFile,
  claimFile,
  claimFolder,
  endFile,
  formatEnd,
  type Claim,
  type Claimed,
} from '../../protocol/claim.ts';
import { placeOfRef } from '../../protocol/layout.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import { ClaimRecords, type WatchRow } from '../../state/claims.ts';
import type { ClaimStep, DeadLetter } from '../../state/dead-letters.ts';
import type { Deliveries } from '../intake/deliveries.ts';
import type { Arrived } from '../extras/extras.ts';
import type { ClaimQueue } from './claim-queue.ts';
import { endingFile, nextClaim, type Ending, type OwnClaim } from './fence.ts';
import { Leases } from './leases.ts';
import { PoolFacts, type PoolMail } from './pool-facts.ts';

/** Longest wait before a claim, in milliseconds, for hosts that have less to do. */
const LONGEST_WAIT_MS = 400;
/** Milliseconds after which a claim that could not be pushed is tried again. */
const RETRY_MS = 5000;
/** The longest time for which a released message is put off, whatever its end says. */
const LONGEST_PUT_OFF_MS = 3_600_000;
/** Number of own runs at which this host waits the longest. */
const BUSY = 4;
const CANCELLED: Ending = { end: 'cancelled' };

/** A job as far as a claim is concerned. */
interface Claiming {
  actor: string;
  channel: string;
  messages: readonly string[];
  /** Open questions behind answers of peers, as `<channel id>/<relPath>`. */
  questions?: readonly string[];
  abandon?: () => void;
}

/** Outcome of the attempt to claim the mail of a job. */
export type Won = { ok: true; claims: OwnClaim[] } | { ok: false; isOver: boolean };

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
  /** Milliseconds. */
  lease: () => number;
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
  readonly #records: ClaimRecords;
  readonly #watched = new Map<string, WatchRow & { last: number; until: number }>();
  readonly #notBefore = new Map<string, number>();
  /** Claims of earlier starts of this machine, by run. */
  readonly #earlier = new Set<string>();
  /** By folder of claims: pushes that may have succeeded unseen, with the clocks before them. */
  readonly #unseen = new Map<string, { run: string } & ReturnType<Leases['clocks']>>();
  /** Claims on their way, by folder. */
  readonly #taking = new Map<string, Promise<unknown>>();
  /** Time of the last fetch that succeeded, monotonic. */
  #asked = performance.now();

  constructor(parts: PoolsApp) {
    const { app, publisher, queue } = parts;
    this.#parts = parts;
    this.#start = app.secret(8);
    this.#facts = new PoolFacts(app);
    this.#records = new ClaimRecords(app.paths.root);
    const records = this.#records;
    this.leases = new Leases({ app, publisher, queue, facts: this.#facts, records });
  }

  /** Notes what a scan has found. */
  async follow({ host, tip, scan, isNews }: Arrived): Promise<void> {
    if (isNews) this.#asked = performance.now();
    // The commits from which mail may still wait, at a start.
    const since = (): Promise<readonly string[]> => this.#parts.deliveries.cursors();
    if (!(await this.#facts.follow(host, tip, scan, since))) return;
    for (const { run } of await this.#records.own.all()) this.#earlier.add(run);
    for (const row of await this.#records.watches.all())
      this.#watched.set(row.id, { ...row, last: this.#asked, until: 0 });
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
    const mayConcern = ({ actor, message }: Delivery): boolean =>
      this.#facts.mayConcern(actor, message);
    if (!messages.some(mayConcern)) return messages;
    const found: Delivery[] = [];
    await this.#facts.learn(messages.filter(mayConcern));
    for (const one of messages) {
      const judged = mayConcern(one) ? await this.#judge(tip, one) : 'here';
      if (judged === 'here') found.push(one);
      if (judged === 'elsewhere') {
        this.#drop(claimFolder(one));
        await this.#parts.deliveries.settle(one.actor, one.channel, [one.relPath]);
      }
    }
    return found;
  }

  async #judge(tip: string, one: Delivery): Promise<'here' | 'elsewhere' | 'later'> {
    const { actor, channel, message } = one;
    const isNarrowed = message.to.some((to) => to.name === actor && to.host !== undefined);
    if (isNarrowed) return 'here';
    if (message.re.length > 0) return this.#ofThread(tip, one);
    if (message.steers !== undefined) {
      const about = await this.#facts.claimsOf({ actor, channel, relPath: message.steers });
      if (about !== undefined && about.end === undefined && !this.leases.hasEnded(about.claim.run))
        return this.#isMine(about) ? 'here' : 'elsewhere';
    }
    const right = await this.#facts.rightTo(one);
    if (right !== 'contested') return right === 'free' ? 'here' : 'elsewhere';
    const key = claimFolder(one);
    const now = this.#parts.app.now().getTime();
    if ((this.#notBefore.get(key) ?? 0) > now) return 'later';
    const claims = await this.#facts.claimsOf(one);
    if (claims === undefined || this.#isMine(claims)) return 'here';
    const { end } = claims;
    if (end === undefined) {
      if (!this.#hasRunOut(key, claims)) return 'later';
      if (claims.beat?.waits !== true) return 'here';
      await this.#abandon(one, claims);
      return 'elsewhere';
    }
    if (end.end !== 'released') return 'elsewhere';
    const due = end.notBefore === undefined ? now : Date.parse(end.notBefore);
    if (due <= now) return 'here';
    // A clock far ahead must not keep it for ever.
    this.#notBefore.set(key, Math.min(due, now + LONGEST_PUT_OFF_MS));
    return 'later';
  }

  /** Determines whose a reply is: a thread belongs to the host that wrote what is answered. */
  async #ofThread(
    tip: string,
    { actor, channel, message }: Delivery,
  ): Promise<'here' | 'elsewhere'> {
    const answered = await Promise.all(
      message.re.map((ref) => {
        const place = placeOfRef(channel, ref);
        return this.#parts.app.reader.message(tip, place.channel, place.relPath);
      }),
    );
    // Plain 6.0 may have written it without its host: then it is nobody else's.
    const hosts = answered.flatMap((by) => (by?.from === actor ? (by.host ?? []) : []));
    return hosts.length === 0 || hosts.includes(this.#facts.host) ? 'here' : 'elsewhere';
  }

  /**
   * Whether a claim is of this start, or of one before it on this machine, which is dead; one whose end is on its way
   * is not any more.
   */
  #isMine({ claim, end }: Claims): boolean {
    if (end !== undefined || this.leases.hasEnded(claim.run)) return false;
    return claim.run.startsWith(`${this.#start}.`) || this.#earlier.has(claim.run);
  }

  #isFree(key: string, claims: Claims, { isByHand }: { isByHand: boolean }): boolean {
    const { end } = claims;
    // Only its own host goes on with a thread that waits for others.
    if (end === undefined) return claims.beat?.waits !== true && this.#hasRunOut(key, claims);
    return end.end === 'released' || (isByHand && ['failed', 'held'].includes(end.end));
  }

  /** Whether the lease of another host's claim is over, by the time for which its beat did not change. */
  #hasRunOut(key: string, { n, claim, beat, beatOid }: Claims): boolean {
    const lease = beat?.lease ?? claim.lease;
    const known = this.#watched.get(key);
    const isSame = known?.n === n && known.beat === beatOid;
    const { seen, last } = isSame ? known : { seen: 0, last: this.#asked };
    const more = this.#asked - last;
    const row = { id: key, n, beat: beatOid, seen: seen + more };
    const until = this.#parts.app.now().getTime() + Math.max(0, lease - row.seen);
    this.#watched.set(key, { ...row, last: this.#asked, until });
    if (more > lease / 20) void this.#records.watches.put(row).catch(() => undefined);
    return row.seen >= lease;
  }

  /**
   * Gives up a thread whose host is gone while others owe it answers: what it has handed out cannot be gathered here,
   * so its asker receives a notice, from one of the hosts that watch.
   */
  async #abandon(one: Delivery, { n, claim, oids, beatOid }: Claims): Promise<void> {
    const { app } = this.#parts;
    const { actor, channel, relPath } = one;
    const of = { actor, channel, relPath };
    const at = app.now().toISOString();
    const letter = this.#parts.abandoned({ actor, channel, messages: [relPath] }, claim);
    const requires = [
      { path: claimFile(of, n), oid: oids.at(-1) ?? null },
      { path: beatFile(of, n), oid: beatOid },
      { path: endFile(of, n), oid: null },
    ];
    const content = formatEnd({ end: 'failed', run: claim.run, at });
    const files = [{ path: endFile(of, n), content }];
    await app.deadLetters.putToTell(letter, { requires, files });
    app.log('dead_letter', { id: letter.id, ...of, reason: letter.reason });
  }

  /**
   * Claims the mail of a job that is about to start, and waits until the remote's tip has the claims.
   *
   * @param running number of other runs under way here
   * @param isByHand whether a person has retried it, so that it runs although it has failed for good
   */
  async claim(job: Claiming, running: number, isByHand: boolean): Promise<Won> {
    const { actor, channel, messages } = job;
    const claims: OwnClaim[] = [];
    const { questions = [] } = job;
    const isFree = (relPath: string): boolean => this.#facts.isFree({ actor, channel, relPath });
    const isContested = (relPath: string): boolean =>
      this.#facts.isContested({ actor, channel, relPath });
    if (questions.length === 0 && messages.every(isFree)) return { ok: true, claims };
    if (!this.#facts.mayBelong(actor) && !messages.some(isContested)) return { ok: true, claims };
    for (const of of await this.#toClaim(job)) {
      const won = await this.#claimOne(of, running, isByHand, job.abandon);
      if ('isOver' in won) return { ok: false, isOver: won.isOver };
      claims.push(won);
    }
    return { ok: true, claims };
  }

  /** Returns the questions of a job that have a claim, or need one. */
  async #toClaim({ actor, channel, messages, questions = [] }: Claiming): Promise<Claimed[]> {
    const found: Claimed[] = [];
    for (const key of questions) {
      const of = { actor, ...placeOfRef(channel, key) };
      const claims = await this.#facts.claimsOf(of);
      if (claims !== undefined && claims.end === undefined) found.push(of);
    }
    const { reader } = this.#parts.app;
    for (const { relPath, message } of await reader.messages(this.#facts.tip, channel, messages)) {
      if (message.re.length > 0 || !this.#facts.mayConcern(actor, message)) continue;
      const about = { actor, channel, relPath: message.steers ?? relPath };
      const steered = message.steers === undefined ? undefined : await this.#facts.claimsOf(about);
      const of = { actor, channel, relPath };
      if (steered !== undefined && this.#isMine(steered)) found.push(about);
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
    const isMine = before !== undefined && this.#isMine(before);
    if (before !== undefined && !isMine && !this.#isFree(claimFolder(of), before, { isByHand }))
      return { isOver: before.end !== undefined };
    const unseen = this.#unseen.get(claimFolder(of));
    // A push whose end was not known here has succeeded. Any other claim of this start has lost its lease.
    if (isMine && before.claim.run === unseen?.run) {
      this.#unseen.delete(claimFolder(of));
      return this.leases.begin(of, before, unseen, abandon);
    }
    const wait = Math.min(1, running / BUSY) * LONGEST_WAIT_MS * this.#parts.app.random();
    const taking = sleep(isMine ? 0 : wait).then(() => this.#take(of, before, abandon));
    this.#taking.set(
      claimFolder(of),
      taking.catch(() => undefined),
    );
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
    await this.#records.own.put({ id: key, actor, channel, relPath: message, run });
    this.#unseen.set(key, { run, ...clocks });
    queue.put({ id, commits: [commit] });
    const outcome = await publisher.publish(id).finally(() => queue.remove(id));
    const now = await this.#facts.claimsNow(of);
    if (now?.claim.run === run && now.end === undefined) {
      this.#unseen.delete(key);
      app.log('claimed', { actor, channel, message, n });
      return this.leases.begin(of, now, clocks, abandon);
    }
    const reason = outcome.published ? 'another host was first' : outcome.failure.reason;
    app.log('claim_lost', { actor, channel, message, n, reason });
    if ((now?.n ?? 0) < n) this.#notBefore.set(key, app.now().getTime() + RETRY_MS);
    await this.#records.own.remove(key);
    return { isOver: now?.end !== undefined && now.end.end !== 'released' };
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
    const isTheirs = before !== undefined && !this.#isMine(before);
    if (isTheirs && !this.#isFree(claimFolder(one), before, { isByHand: false }))
      return 'elsewhere';
    const { commit, claim } = nextClaim(one, before, this.#byNow());
    const { requires = [], files, at } = commit;
    return { requires, files: [...files, endingFile(claim, CANCELLED, at)] };
  }

  /** Notes that the notice of a cancelled message, which ends its claim, is on record: its run need not end it. */
  async cancelled(one: Claimed): Promise<void> {
    const own = this.leases.get(one);
    if (own !== undefined) await this.leases.over([own], () => CANCELLED);
  }

  #byNow(): Claim {
    const { app, lease } = this.#parts;
    const run = `${this.#start}.${app.newId()}`;
    return { host: this.#facts.host, run, lease: lease(), at: app.now().toISOString() };
  }

  #drop(key: string): void {
    this.#facts.drop(key);
    this.#notBefore.delete(key);
    this.#unseen.delete(key);
    if (this.#watched.delete(key)) void this.#records.watches.remove(key).catch(() => undefined);
  }

  /** Returns the time at which something of this is due without news. */
  next(): Date | undefined {
    const now = this.#parts.app.now().getTime();
    const leases = [...this.#watched.values()].map(({ until }) => until);
    const times = [...this.leases.due(), ...leases, ...this.#notBefore.values()];
    const ahead = times.filter((time) => time > now);
    return ahead.length === 0 ? undefined : new Date(Math.min(...ahead));
  }
}
