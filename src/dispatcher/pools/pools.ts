import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveHost } from '../../bus/approvals.ts';
import { claimsAt, contendersFor, isPool, type Claims } from '../../bus/claims.ts';
import type { DispatcherApp } from '../../bus/app.ts';
import { profileInForce } from '../../bus/profiles.ts';
import type { Publisher } from '../../bus/publisher.ts';
import { reasonOf } from '../../errors.ts';
import {
  beatFile,
  claimFile,
  claimFolder,
  claimPlace,
  endFile,
  formatBeat,
  formatClaim,
  formatEnd,
  parseEnd,
  type Claimed,
} from '../../protocol/claim.ts';
import { CLAIMS, placeOfRef } from '../../protocol/layout.ts';
import type { Delivery } from '../../protocol/mailbox.ts';
import type { Message } from '../../protocol/message.ts';
import type { Commit, Requirement } from '../../protocol/outgoing.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import { Rows } from '../../store/rows.ts';
import type { Deliveries } from '../intake/deliveries.ts';
import type { Scan } from '../intake/scan.ts';
import type { ClaimQueue } from './claim-queue.ts';
import {
  claimCommit,
  endingFile,
  fenceOf,
  WAITING_LEASE_MS,
  type ClaimStep,
  type Ending,
  type OwnClaim,
} from './fence.ts';

/** Longest wait before a claim, in milliseconds, for hosts that have less to do. */
const LONGEST_WAIT_MS = 400;
/** Milliseconds after which a claim that could not be pushed is tried again. */
const RETRY_MS = 5000;
/** Number of own runs at which this host waits the longest. */
const BUSY = 4;

/** A claim that this machine has made, kept until its end: a later start succeeds it at once. */
interface OwnRow {
  /** The folder of the claims. */
  id: string;
  channel: string;
  relPath: string;
  actor: string;
  run: string;
}

/** How long the same beat of another host's claim was seen. */
interface WatchRow {
  /** The folder of the claims. */
  id: string;
  n: number;
  beat: string | null;
  /** Milliseconds, between fetches that succeeded. */
  seen: number;
}

/** A claim of this process under its lease. */
interface Held {
  claim: OwnClaim;
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
    'transport' | 'reader' | 'log' | 'paths' | 'now' | 'random' | 'newId' | 'secret' | 'outbox'
  >;
  publisher: Pick<Publisher, 'publish'>;
  queue: ClaimQueue;
  deliveries: Pick<Deliveries, 'mailboxes' | 'settle'>;
  /** Milliseconds. */
  lease: () => number;
}

/**
 * Pools (pools.md): of all hosts that serve an actor with `serve: one`, one takes each message, by a claim that
 * `git push` decides. It holds deliveries back that others have, and claims those that a run is about to start for.
 */
export class Pools {
  readonly #parts: PoolsApp;
  /** Names this start of the dispatcher. */
  readonly #start: string;
  readonly #own: Rows<OwnRow>;
  readonly #watches: Rows<WatchRow>;
  /** Actors whose mail may have to be claimed; once in it, they stay. */
  readonly #suspects = new Set<string>();
  /** Actors whose pool goes on here, as its end is not approved. */
  readonly #kept = new Set<string>();
  /** By folder of claims: hosts that contend, null where each runs it. */
  readonly #contenders = new Map<string, string[] | null>();
  readonly #known = new Map<string, Claims | undefined>();
  readonly #held = new Map<string, Held>();
  readonly #watched = new Map<string, WatchRow & { last: number; until?: number }>();
  readonly #notBefore = new Map<string, number>();
  /** Claims of earlier starts of this machine, by run. */
  #earlier: Map<string, OwnRow> | undefined;
  #tip: string | undefined;
  #hasClaims = false;
  /** Time of the last fetch that succeeded, monotonic. */
  #asked = performance.now();
  #host: ActiveHost | undefined;

  constructor(parts: PoolsApp) {
    this.#parts = parts;
    this.#start = parts.app.secret(8);
    this.#own = new Rows(parts.app.paths.root, 'claim');
    this.#watches = new Rows(parts.app.paths.root, 'claim-watch');
  }

  /**
   * Notes what a scan has found: changed profiles and claims.
   *
   * @param isNews whether the remote has answered with this tip
   * @param since commits from which mail may still wait, at a start
   */
  async follow(
    host: ActiveHost,
    tip: string,
    scan: Scan | undefined,
    { isNews, since }: { isNews: boolean; since: () => Promise<readonly string[]> },
  ): Promise<void> {
    const { transport } = this.#parts.app;
    if (isNews) this.#asked = performance.now();
    const isFirst = this.#host === undefined;
    this.#host = host;
    for (const path of scan?.claims ?? []) this.#forget(path);
    const isConfigured = isFirst || scan?.configured === true;
    if (this.#tip === tip || !isConfigured) {
      this.#tip = tip;
      return;
    }
    this.#known.clear();
    // What a scan has found before it is judged by its own commit.
    const commits = new Set([tip, ...(isFirst ? await since() : [])]);
    for (const actor of host.actors.keys())
      for (const commit of commits)
        if (!this.#suspects.has(actor) && (await isPool(transport, commit, actor)))
          this.#suspects.add(actor);
    // A pool whose end waits for approval here goes on.
    for (const actor of host.actors.keys()) {
      const { pool, profile } = await profileInForce(this.#parts.app, tip, actor);
      const isKept = pool === true && profile?.serve !== 'one';
      if (!isKept) this.#kept.delete(actor);
      else for (const names of [this.#kept, this.#suspects]) names.add(actor);
    }
    if (isFirst) {
      this.#earlier = new Map((await this.#own.all()).map((row) => [row.run, row]));
      for (const row of await this.#watches.all())
        this.#watched.set(row.id, { ...row, last: this.#asked });
      this.#hasClaims = (await transport.objects.read(`${tip}:${CLAIMS}`)) !== undefined;
    }
    this.#tip = tip;
  }

  #forget(path: string): void {
    const place = claimPlace(path);
    this.#hasClaims = true;
    if (place !== undefined) this.#known.delete(claimFolder(place));
  }

  #mayConcern(actor: string, message: Message): boolean {
    return this.#suspects.has(actor) || message.one === true;
  }

  /** Whether a delivery gets a run of its own: a claim is for one message. */
  isAlone({ actor, channel, relPath }: Delivery): boolean {
    const contenders = this.#contenders.get(claimFolder({ actor, channel, relPath }));
    return contenders !== undefined && contenders !== null && contenders.length !== 1;
  }

  /**
   * Returns those of some deliveries that may run here, or be claimed; others wait for the host that has them, or
   * are settled, as another host answers them.
   */
  async ready(tip: string, messages: Delivery[]): Promise<Delivery[]> {
    if (!messages.some(({ actor, message }) => this.#mayConcern(actor, message))) return messages;
    const found: Delivery[] = [];
    for (const one of messages) {
      const { actor, channel, relPath, message } = one;
      if (!this.#mayConcern(actor, message)) {
        found.push(one);
        continue;
      }
      const judged = await this.#judge(tip, one);
      if (judged === 'here') found.push(one);
      if (judged === 'elsewhere') {
        this.#drop(claimFolder(one));
        await this.#parts.deliveries.settle(actor, channel, [relPath]);
      }
    }
    return found;
  }

  async #judge(tip: string, one: Delivery): Promise<'here' | 'elsewhere' | 'later'> {
    const { reader } = this.#parts.app;
    const { actor, channel, relPath, message } = one;
    const host = this.#host?.alias ?? '';
    if (message.to.some((to) => to.name === actor && to.host !== undefined)) return 'here';
    if (message.re.length > 0) {
      // A thread belongs to the host that wrote what is answered.
      const answered = await Promise.all(
        message.re.map((ref) => {
          const place = placeOfRef(channel, ref);
          return reader.message(tip, place.channel, place.relPath);
        }),
      );
      const hosts = answered.flatMap((by) => (by?.from === actor ? [by.host] : []));
      return hosts.length === 0 || hosts.includes(host) ? 'here' : 'elsewhere';
    }
    if (message.steers !== undefined) {
      const about = await this.#claimsOf({ actor, channel, relPath: message.steers });
      if (about !== undefined && about.end === undefined)
        return this.#isMine(about) ? 'here' : 'elsewhere';
    }
    const contenders = await this.#contendersFor(tip, one);
    if (contenders === null) return 'here';
    if (contenders.length > 0 && !contenders.includes(host)) return 'elsewhere';
    if (contenders.length === 1) return 'here';
    const key = claimFolder({ actor, channel, relPath });
    const now = this.#parts.app.now().getTime();
    if ((this.#notBefore.get(key) ?? 0) > now) return 'later';
    const claims = await this.#claimsOf(one);
    if (claims === undefined || this.#isMine(claims)) return 'here';
    const { end } = claims;
    if (end === undefined) return this.#hasRunOut(key, claims) ? 'here' : 'later';
    if (end.end !== 'released') return 'elsewhere';
    const due = end.notBefore === undefined ? now : Date.parse(end.notBefore);
    if (due <= now) return 'here';
    // A clock far ahead must not keep it for ever.
    this.#notBefore.set(key, Math.min(due, now + 3_600_000));
    return 'later';
  }

  async #contendersFor(tip: string, one: Delivery): Promise<string[] | null> {
    const { actor, channel, relPath, message } = one;
    const key = claimFolder({ actor, channel, relPath });
    const known = this.#contenders.get(key);
    if (known !== undefined) return known;
    const found =
      (await contendersFor(
        this.#parts.app.transport,
        tip,
        { actor, channel, relPath },
        message.one === true || this.#kept.has(actor),
      )) ?? null;
    this.#contenders.set(key, found);
    return found;
  }

  async #claimsOf(of: Claimed): Promise<Claims | undefined> {
    const { transport } = this.#parts.app;
    const key = claimFolder(of);
    if (!this.#known.has(key)) {
      const tip = await transport.tip();
      this.#known.set(key, tip === undefined ? undefined : await claimsAt(transport, tip, of));
    }
    return this.#known.get(key);
  }

  /** Whether a claim is of this start, or of one before it on this machine, which is dead. */
  #isMine({ claim, end }: Claims): boolean {
    if (end !== undefined) return false;
    return claim.run.startsWith(`${this.#start}.`) || this.#earlier?.has(claim.run) === true;
  }

  #isFree(key: string, claims: Claims, isByHand: boolean): boolean {
    const { end } = claims;
    if (end === undefined) return this.#hasRunOut(key, claims);
    return end.end === 'released' || (isByHand && ['failed', 'held'].includes(end.end));
  }

  /** Whether the lease of another host's claim is over, by the time for which its beat did not change. */
  #hasRunOut(key: string, { n, claim, beat, beatOid }: Claims): boolean {
    const lease = beat?.lease ?? claim.lease;
    let watch = this.#watched.get(key);
    if (watch?.n !== n || watch.beat !== beatOid) {
      watch = { id: key, n, beat: beatOid, seen: 0, last: this.#asked };
      this.#watched.set(key, watch);
    }
    const more = this.#asked - watch.last;
    watch.seen += more;
    watch.last = this.#asked;
    watch.until = this.#parts.app.now().getTime() + Math.max(0, lease - watch.seen);
    const { last: _last, until: _until, ...row } = watch;
    if (more > lease / 20) void this.#watches.put(row).catch(() => undefined);
    // Only its own host goes on with a thread that waits for others.
    return watch.seen >= lease && beat?.waits !== true;
  }

  /**
   * Claims the mail of a job that is about to start, and waits until the remote's tip has the claims.
   *
   * @param running number of other runs under way here
   * @param isByHand whether a person has retried it, so that it runs although it has failed for good
   */
  async claim(job: Claiming, running: number, isByHand: boolean): Promise<Won> {
    const { actor, channel, messages } = job;
    const isContested = (relPath: string): boolean =>
      this.isAlone({ actor, channel, relPath } as Delivery);
    const isSuspect = this.#suspects.has(actor) || this.#hasClaims;
    if (!isSuspect && !messages.some(isContested)) return { ok: true, claims: [] };
    const claims: OwnClaim[] = [];
    for (const of of await this.#toClaim(job)) {
      const won = await this.#claimOne(of, running, isByHand, job.abandon);
      if ('isOver' in won) return { ok: false, isOver: won.isOver };
      claims.push(won);
    }
    return { ok: true, claims };
  }

  /** Returns the questions of a job that have a claim, or need one. */
  async #toClaim({ actor, channel, messages, questions = [] }: Claiming): Promise<Claimed[]> {
    const { reader } = this.#parts.app;
    const tip = this.#tip ?? '';
    const found: Claimed[] = [];
    for (const key of questions) {
      const place = placeOfRef(channel, key);
      const of = { actor, channel: place.channel, relPath: place.relPath };
      const claims = await this.#claimsOf(of);
      if (claims !== undefined && claims.end === undefined) found.push(of);
    }
    for (const { relPath, message } of await reader.messages(tip, channel, messages)) {
      const of = { actor, channel, relPath };
      if (message.re.length > 0 || !this.#mayConcern(actor, message)) continue;
      if (message.to.some((to) => to.name === actor && to.host !== undefined)) continue;
      const about = { actor, channel, relPath: message.steers ?? relPath };
      const steered = message.steers === undefined ? undefined : await this.#claimsOf(about);
      if (steered !== undefined && this.#isMine(steered)) {
        found.push(about);
        continue;
      }
      const contenders = await this.#contendersFor(tip, { ...of, message });
      if (contenders !== null && contenders.length !== 1) found.push(of);
    }
    return [...new Map(found.map((of) => [claimFolder(of), of])).values()];
  }

  async #claimOne(
    of: Claimed,
    running: number,
    isByHand: boolean,
    abandon: (() => void) | undefined,
  ): Promise<OwnClaim | { isOver: boolean }> {
    const key = claimFolder(of);
    const held = this.#held.get(key);
    if (held !== undefined) {
      held.abandon = abandon;
      held.waits = false;
      return held.claim;
    }
    const before = await this.#claimsOf(of);
    const isMine = before !== undefined && this.#isMine(before);
    if (before !== undefined && !isMine && !this.#isFree(key, before, isByHand))
      return { isOver: before.end !== undefined };
    if (before !== undefined && before.claim.run.startsWith(`${this.#start}.`) && isMine)
      return this.#adopt(of, before, abandon);
    if (!isMine)
      await sleep(Math.min(1, running / BUSY) * LONGEST_WAIT_MS * this.#parts.app.random());
    return this.#take(of, before, abandon);
  }

  /** Pushes the next claim of a message; git decides who is first. */
  async #take(
    of: Claimed,
    before: Claims | undefined,
    abandon: (() => void) | undefined,
  ): Promise<OwnClaim | { isOver: boolean }> {
    const { app, queue, publisher } = this.#parts;
    const key = claimFolder(of);
    const { commit, claim: next } = this.#next(of, before);
    const { run, n } = next;
    const id = app.newId();
    const [wall, mono] = [app.now().getTime(), performance.now()];
    queue.put({ id, commits: [commit] });
    await this.#own.put({ id: key, ...of, run });
    const outcome = await publisher.publish(id);
    await queue.remove(id);
    this.#known.delete(key);
    const now = await this.#claimsOf(of);
    if (now?.claim.run === run && now.end === undefined) {
      const claim = this.#adopt(of, now, abandon);
      Object.assign(this.#held.get(key) ?? {}, { wall, mono });
      app.log('claimed', { actor: of.actor, channel: of.channel, message: of.relPath, n });
      return claim;
    }
    const { actor, channel, relPath: message } = of;
    const reason = outcome.published ? 'another host was first' : outcome.failure.reason;
    app.log('claim_lost', { actor, channel, message, n, reason });
    if (now === before || now === undefined || now.n < n)
      this.#notBefore.set(key, app.now().getTime() + RETRY_MS);
    await this.#own.remove(key);
    return { isOver: now?.end !== undefined && now.end.end !== 'released' };
  }

  /** Makes the commit of the next claim of a message. */
  #next(of: Claimed, before: Claims | undefined): { commit: Commit; claim: OwnClaim } {
    const { app } = this.#parts;
    const host = this.#host?.alias ?? '';
    const n = (before?.n ?? 0) + 1;
    const at = app.now().toISOString();
    const run = `${this.#start}.${app.newId()}`;
    const requires: Requirement[] = [{ path: claimFile(of, n), oid: null }];
    if (before !== undefined)
      requires.push(
        { path: claimFile(of, n - 1), oid: before.oids.at(-1) ?? null },
        { path: beatFile(of, n - 1), oid: before.beatOid },
        { path: endFile(of, n - 1), oid: before.endOid },
      );
    const content = formatClaim({ host, run, lease: this.#parts.lease(), at });
    const commit = claimCommit(host, at, `${host} takes a message for ${of.actor}`, {
      requires,
      files: [{ path: claimFile(of, n), content }],
    });
    const { attempts = 0, oids = [] } = before ?? {};
    return { commit, claim: { ...of, host, n, oids, run, attempts } };
  }

  #adopt(of: Claimed, claims: Claims, abandon: (() => void) | undefined): OwnClaim {
    const { claim, n, oids, attempts } = claims;
    const { actor, channel, relPath } = of;
    const own = { actor, channel, relPath, host: claim.host, n, oids, run: claim.run, attempts };
    this.#held.set(claimFolder(of), {
      claim: own,
      lease: claim.lease,
      wall: this.#parts.app.now().getTime(),
      mono: performance.now(),
      waits: false,
      isBeating: false,
      abandon,
    });
    return own;
  }

  /**
   * Returns what the notice of a cancelled message adds, so that of all hosts one writes it; undefined where each does.
   *
   * @param tip the commit scanned last
   */
  async cancelling(tip: string, one: Delivery): Promise<ClaimStep | 'elsewhere' | undefined> {
    const { actor, channel, relPath, message } = one;
    const host = this.#host?.alias ?? '';
    if (message.re.length > 0 || !this.#mayConcern(actor, message)) return undefined;
    if (message.to.some((to) => to.name === actor && to.host !== undefined)) return undefined;
    const contenders = await this.#contendersFor(tip, one);
    if (contenders === null) return undefined;
    if (contenders.length > 0 && !contenders.includes(host)) return 'elsewhere';
    if (contenders.length === 1) return undefined;
    const of = { actor, channel, relPath };
    const key = claimFolder(of);
    const held = this.#held.get(key);
    if (held !== undefined) return this.closing([held.claim], () => ({ end: 'cancelled' }));
    const before = await this.#claimsOf(of);
    if (before !== undefined && !this.#isMine(before) && !this.#isFree(key, before, false))
      return 'elsewhere';
    const { commit, claim } = this.#next(of, before);
    const at = this.#parts.app.now().toISOString();
    const { requires = [], files } = commit;
    return { requires, files: [...files, endingFile(claim, { end: 'cancelled' }, at)] };
  }

  /**
   * Returns the claim step of what a run publishes at its end.
   *
   * @param endings by message, `waits` for a thread that goes on later
   */
  closing(claims: readonly OwnClaim[], endingOf: (claim: OwnClaim) => Ending | 'waits'): ClaimStep {
    const at = this.#parts.app.now().toISOString();
    const files = claims.flatMap((claim) => {
      const ending = endingOf(claim);
      if (ending !== 'waits') return [endingFile(claim, ending, at)];
      const beat = { run: claim.run, lease: WAITING_LEASE_MS, waits: true as const, at };
      return [{ path: beatFile(claim, claim.n), content: formatBeat(beat) }];
    });
    return { requires: fenceOf(claims), files };
  }

  /** Publishes the ends of claims alone, where nothing else is published with them; durable on return. */
  async end(
    claims: readonly OwnClaim[],
    endingOf: (claim: OwnClaim) => Ending | 'waits',
  ): Promise<void> {
    const { app, publisher } = this.#parts;
    const own = claims.filter((claim) => this.#held.get(claimFolder(claim))?.claim === claim);
    const [first] = own;
    if (first === undefined) return;
    const at = app.now().toISOString();
    const step = this.closing(own, endingOf);
    const id = app.newId();
    await app.outbox.put({
      id,
      commits: [claimCommit(first.host, at, `${first.host} is done`, step)],
    });
    await this.over(own, endingOf);
    void publisher.publish(id).catch((error: unknown) => {
      app.log('internal_error', { error: reasonOf(error) });
    });
  }

  /** Ends the claims of an answer that is held here for a person to decide about. */
  async heldBack({ commits }: OutboxEntry): Promise<void> {
    const { app, publisher } = this.#parts;
    const at = app.now().toISOString();
    const ends = commits.flatMap(({ files }) =>
      files.flatMap(({ path, content }) => {
        const end = claimPlace(path)?.kind === 'end' ? parseEnd(content) : undefined;
        return end?.ok === true
          ? [{ path, content: formatEnd({ end: 'held', run: end.value.run, at }) }]
          : [];
      }),
    );
    const requires = commits[0]?.requires ?? [];
    if (ends.length === 0) return;
    const host = this.#host?.alias ?? '';
    const id = app.newId();
    const commit = claimCommit(host, at, `${host} holds an answer back`, { requires, files: ends });
    await app.outbox.put({ id, commits: [commit] });
    await publisher.publish(id);
  }

  /** Notes that a run is over, with what became of its claims. */
  async over(
    claims: readonly OwnClaim[],
    endingOf: (claim: OwnClaim) => Ending | 'waits',
  ): Promise<void> {
    for (const claim of claims) {
      const key = claimFolder(claim);
      const held = this.#held.get(key);
      if (held?.claim.run !== claim.run) continue;
      if (endingOf(claim) === 'waits') {
        const [wall, mono] = [this.#parts.app.now().getTime(), performance.now()];
        Object.assign(held, {
          waits: true,
          lease: WAITING_LEASE_MS,
          abandon: undefined,
          wall,
          mono,
        });
      } else this.#drop(key);
      if (endingOf(claim) !== 'waits') await this.#own.remove(key);
    }
  }

  #drop(key: string): void {
    for (const known of [this.#held, this.#watched, this.#notBefore, this.#known, this.#contenders])
      known.delete(key);
    void this.#watches.remove(key).catch(() => undefined);
  }

  /**
   * Renews the claims of this process, and ends runs whose claim was overtaken or whose lease could not be renewed in
   * time.
   */
  async look(): Promise<void> {
    for (const [key, held] of this.#held) {
      const { claim } = held;
      const now = await this.#claimsOf(claim);
      const isOvertaken =
        now !== undefined &&
        (now.n > claim.n || (now.n === claim.n && now.claim.run !== claim.run));
      const since = this.#since(held);
      if (isOvertaken || since > held.lease * 0.9) {
        this.#lose(key, held, isOvertaken ? 'another host has it' : 'its lease was not renewed');
        continue;
      }
      if (since > held.lease / 3 && !held.isBeating) void this.#beat(held);
    }
  }

  #since({ wall, mono }: Held): number {
    return Math.max(this.#parts.app.now().getTime() - wall, performance.now() - mono);
  }

  #lose(key: string, held: Held, reason: string): void {
    const { actor, channel, relPath: message, n } = held.claim;
    this.#parts.app.log('claim_lost', { actor, channel, message, n, reason });
    this.#held.delete(key);
    held.abandon?.();
  }

  async #beat(held: Held): Promise<void> {
    const { app, queue, publisher } = this.#parts;
    const { claim } = held;
    const at = app.now().toISOString();
    const [wall, mono] = [app.now().getTime(), performance.now()];
    const waits = held.waits && { waits: true as const, lease: held.lease };
    const step = {
      requires: fenceOf([claim]),
      files: [
        { path: beatFile(claim, claim.n), content: formatBeat({ run: claim.run, at, ...waits }) },
      ],
    };
    const id = app.newId();
    held.isBeating = true;
    queue.put({ id, commits: [claimCommit(claim.host, at, `${claim.host} goes on`, step)] });
    try {
      const { published } = await publisher.publish(id);
      if (published) Object.assign(held, { wall, mono });
    } catch (error) {
      app.log('internal_error', { error: reasonOf(error) });
    } finally {
      await queue.remove(id);
      held.isBeating = false;
    }
  }

  /** Returns the time at which something of this is due without news. */
  next(): Date | undefined {
    const now = this.#parts.app.now().getTime();
    const beats = [...this.#held.values()].map((held) => now + held.lease / 3 - this.#since(held));
    const leases = [...this.#watched.values()].flatMap(({ until }) => until ?? []);
    const times = [...beats, ...leases, ...this.#notBefore.values()].filter((time) => time > now);
    return times.length === 0 ? undefined : new Date(Math.min(...times));
  }
}
