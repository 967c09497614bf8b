import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Publisher } from '../../src/bus/publisher.ts';
import type { ActiveHost } from '../../src/bus/approvals.ts';
import { ClaimQueue } from '../../src/dispatcher/pools/claim-queue.ts';
import { behind, fenced, type Ending, type OwnClaim } from '../../src/dispatcher/pools/fence.ts';
import { Pools } from '../../src/dispatcher/pools/pools.ts';
import { abandonedLetter } from '../../src/dispatcher/run/letters.ts';
import {
  claimFolder,
  claimPlace,
  currentOf,
  parseClaim,
  parseEnd,
} from '../../src/protocol/claim.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import type { Message } from '../../src/protocol/message.ts';
import { authorOf, type Commit } from '../../src/protocol/outgoing.ts';
import { ClaimRecords } from '../../src/state/claims.ts';
import { DeadLetters } from '../../src/state/dead-letters.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { publish } from '../../src/transport/publish/publish.ts';
import { SimulatedClone, SimulatedHub } from './simulated-hub.ts';

const ACTOR = 'pool';
const CHANNEL = '11111111-1111-4111-8111-111111111111';
const REL_PATH = '2026/11/30/120000000Z-0123456789abcdef.md';
const TASK = { actor: ACTOR, channel: CHANNEL, relPath: REL_PATH };
const FOLDER = claimFolder(TASK);
export const LEASE_MS = 900_000;
const MESSAGE: Message = {
  from: 'alice',
  to: [{ name: ACTOR }],
  type: 'text',
  timestamp: '2026-11-30T12:00:00.000Z',
  re: [],
  cause: [],
  extra: {},
  body: '',
};
/** Where words of hosts stand; a message would do as well. */
const SAID = 'said/';
const CANCEL = 'cancel';

interface Current {
  n: number;
  run: string;
  /** The last word about the task, or the end of the current claim. */
  end: string | undefined;
  /** Whether the current claim itself has no end. */
  isOpen: boolean;
}

/** What becomes of a run. */
export const ENDINGS = [
  'answered',
  'silent',
  'again',
  'failed',
  'parked',
  'waits',
  'stopped',
] as const;
export type Outcome = (typeof ENDINGS)[number];

/** Several hosts that share a pool, its one task, and the true time; each step is carried out to its end. */
export class SimulatedPool {
  readonly hub: SimulatedHub;
  readonly hosts: SimulatedHost[] = [];
  /** Milliseconds of the clock that nobody sets. */
  time = 0;
  serial = 0;
  /** Whether somebody else has pushed files of claims, or a machine was copied. */
  isForged = false;
  isCopied = false;
  /** What broke a promise. */
  readonly broken: string[] = [];
  /** Words of hosts about the task: answers and notices. */
  readonly said: string[] = [];
  /** Time of the last push of each run's claim or beat. */
  readonly #beats = new Map<string, number>();

  constructor(hosts: number) {
    const names = Array.from({ length: hosts }, (_, index) => `host${String(index)}`);
    const profile = `---\nname: ${ACTOR}\ndescription: works\nserve: one\n---\n\nWork.\n`;
    this.hub = new SimulatedHub({
      [`local/actors/${ACTOR}.md`]: profile,
      [messageFile(CHANNEL, REL_PATH)]: 'the task',
      ...Object.fromEntries(
        names.map((alias) => [
          `hosts/${alias}.md`,
          `---\nalias: ${alias}\nactors:\n  ${ACTOR}:\n    default:\n      cli: "true"\n---\n`,
        ]),
      ),
    });
    this.hub.onPush = (before, commits) => {
      this.#judge(before, commits);
    };
    // Their clocks differ by a day.
    for (const [index, alias] of names.entries())
      this.hosts.push(new SimulatedHost(this, alias, index * 86_400_000));
  }

  get isSettled(): boolean {
    const { end } = this.current;
    return end !== undefined && end !== 'released';
  }

  /** The current claim at the tip, as the specification has it. */
  get current(): Current {
    return this.#currentIn(this.hub.files);
  }

  #currentIn(files: ReadonlyMap<string, string>): Current {
    const numbers = new Set<number>();
    const ends = new Map<number, string>();
    for (const [path, text] of files) {
      const place = claimPlace(path);
      if (place?.kind === 'claim') numbers.add(place.n);
      const end = place?.kind === 'end' ? parseEnd(text) : undefined;
      if (place !== undefined && end?.ok === true) ends.set(place.n, end.value.end);
    }
    const n = currentOf(numbers);
    // What stands ahead of the claims may not have been seen by whoever makes the next one.
    const last = [...ends].find(([at, end]) => at <= n && end !== 'released')?.[1];
    const claim = parseClaim(files.get(`${FOLDER}/${String(n)}.md`) ?? '');
    const run = claim.ok ? claim.value.run : '';
    return { n, run, end: last ?? ends.get(n), isOpen: !ends.has(n) };
  }

  /** Looks at what a host pushes, beside what is there. */
  #judge(before: ReadonlyMap<string, string>, commits: readonly Commit[]): void {
    const files = new Map(before);
    const claimed = new Set<number>();
    for (const { path, content } of commits.flatMap((commit) => commit.files)) {
      const current = this.#currentIn(files);
      const { n, run, isOpen } = current;
      const place = claimPlace(path);
      if (place?.kind === 'claim') claimed.add(place.n);
      if (place?.kind === 'claim') this.#judgeClaim(files, place.n, current);
      // An end that comes with its claim is the last word, though stray claims may count from then on.
      else if (place !== undefined && (place.n !== n || !isOpen) && !claimed.has(place.n))
        this.broken.push(`${path} beside claim ${String(n)} (${isOpen ? 'open' : 'ended'})`);
      else if (place?.kind === 'end' && place.n === n) this.#judgeEnd(content, run);
      if (path.startsWith(SAID)) this.said.push(path);
      files.set(path, content);
      if (place !== undefined && place.kind !== 'end')
        this.#beats.set(this.#currentIn(files).run, this.time);
    }
    const heard = this.said.filter((path) => !this.isForged || path.startsWith(`${SAID}answer`));
    if (heard.length > 1) this.broken.push(`said twice: ${heard.join(', ')}`);
  }

  #judgeClaim(
    files: ReadonlyMap<string, string>,
    made: number,
    { n, run, end }: Pick<Current, 'n' | 'run' | 'end'>,
  ): void {
    if (made !== n + 1 || files.has(`${FOLDER}/${String(made)}.md`))
      this.broken.push(`claim ${String(made)} after ${String(n)}`);
    if (n === 0 || end === 'released') return;
    // Whoever forges an end may do so beside an earlier claim, which the next one does not ask for.
    if (end !== undefined && !this.isForged)
      this.broken.push(`claim ${String(made)} after the end ${end}`);
    if (this.isForged || this.isCopied) return;
    // Its host has died since, or has never known that it had the claim.
    const isDead = this.hosts.every(
      ({ start, runs }) => !run.startsWith(`${start}.`) || !runs.includes(run),
    );
    const lease = LEASE_MS;
    const age = this.time - (this.#beats.get(run) ?? 0);
    const isLost = this.hosts.some(({ lost }) => lost.has(run));
    if (!isDead && !isLost && age < lease)
      this.broken.push(`claim ${String(made)} ${String(age)} ms after a sign of life of ${run}`);
  }

  #judgeEnd(content: string, run: string): void {
    const end = parseEnd(content);
    if (!end.ok || end.value.run !== run) this.broken.push(`an end of another run than ${run}`);
  }

  /** Pushes files of claims as anybody may. */
  forge(files: Record<string, string>): void {
    this.isForged = true;
    this.hub.edit(
      Object.fromEntries(
        Object.entries(files).map(([name, text]) => [`${FOLDER}/${name}.md`, text]),
      ),
    );
  }

  /** Gives a machine a twin with the same disk, as somebody does who restores a backup beside it. */
  async copy(machine: SimulatedHost): Promise<void> {
    this.isCopied = true;
    const twin = new SimulatedHost(this, machine.alias, 0);
    await twin.restoreFrom(machine);
    this.hosts.push(twin);
    await twin.restart();
  }

  /** Takes the task back. */
  cancel(): void {
    this.hub.edit({ [CANCEL]: '' });
  }
}

/** A machine with its disk: what it knows in memory is gone with each start. */
export class SimulatedHost {
  readonly alias: string;
  readonly clone: SimulatedClone;
  readonly #pool: SimulatedPool;
  readonly #root = mkdtempSync(join(tmpdir(), 'pool-'));
  readonly #offset: number;
  readonly #outbox: Outbox;
  readonly #letters: DeadLetters;
  /** Names the start under way. */
  start = '';
  /** Runs of this machine that were given up. */
  readonly lost = new Set<string>();
  /** Runs that were begun. */
  readonly runs: string[] = [];
  #pools: Pools | undefined;
  #publisher: Publisher | undefined;
  #scanned: string | undefined;
  #underway = new Set<Promise<unknown>>();
  /** The claims of the run under way. */
  #running: OwnClaim[] | undefined;
  #isWaiting = false;
  /** What is on disk: whether the task is done with here, retried, or taken back. */
  #isSettled = false;
  #isRetried = false;
  #isHonoured = false;

  constructor(pool: SimulatedPool, alias: string, offset: number) {
    this.#pool = pool;
    this.alias = alias;
    this.#offset = offset;
    this.clone = new SimulatedClone(pool.hub);
    this.#outbox = new Outbox(this.#root);
    this.#letters = new DeadLetters(this.#root);
  }

  /** The task that its run gives to a peer while it waits. */
  get #delegated(): Message {
    const { alias } = this;
    return { ...MESSAGE, from: ACTOR, host: alias, to: [{ name: 'peer' }], cause: [REL_PATH] };
  }

  readonly #now = (): Date =>
    new Date(Date.parse('2026-11-30T12:00:00Z') + this.#pool.time + this.#offset);

  #id(): string {
    return (this.#pool.serial++).toString().padStart(8, '0');
  }

  /** Ends it as a power failure does, and starts it again. */
  async restart(): Promise<void> {
    this.#publisher?.abandon();
    this.start = `start${this.#id()}`;
    this.#running = undefined;
    this.#scanned = undefined;
    this.#isWaiting = false;
    this.#underway = new Set();
    const { clone } = this;
    const queue = new ClaimQueue(this.#outbox);
    const publisher = new Publisher({
      outbox: queue,
      publish: (entries, signal, onTaken) =>
        publish(clone.upstream, entries, {
          signal,
          onTaken,
          random: () => 0,
          wait: () => Promise.resolve(),
        }),
      lock: () => Promise.resolve({ ok: true, release: () => Promise.resolve() }),
      now: this.#now,
      onPublished: (entry) => {
        if (entry.delivery !== undefined) this.#isSettled = true;
        return Promise.resolve();
      },
    });
    this.#publisher = publisher;
    const app = {
      transport: clone.transport,
      reader: {
        message: () => Promise.resolve(this.#delegated),
        messages: (_: string, __: string, paths: string[]) =>
          Promise.resolve(paths.length === 0 ? [] : [{ relPath: REL_PATH, message: MESSAGE }]),
      },
      log: () => undefined,
      paths: { root: this.#root },
      now: this.#now,
      random: () => 0,
      newId: () => this.#id(),
      secret: () => this.start,
      outbox: this.#outbox,
      deadLetters: this.#letters,
    } as unknown as ConstructorParameters<typeof Pools>[0]['app'];
    this.#pools = new Pools({
      app,
      queue,
      publisher: { publish: (id) => this.#track(publisher.publish(id)) },
      deliveries: {
        settle: () => {
          this.#isSettled = true;
          return Promise.resolve();
        },
        cursors: () => Promise.resolve([]),
      },
      lease: () => LEASE_MS,
      monotonic: () => this.#pool.time,
      abandoned: (delivery, claim) =>
        abandonedLetter({ now: this.#now, newId: () => this.#id() }, delivery, claim),
    });
    await this.tick();
  }

  #track<T>(push: Promise<T>): Promise<T> {
    this.#underway.add(push.catch(() => undefined));
    return push;
  }

  /** Waits until nothing is under way. */
  async #rest(): Promise<void> {
    for (let size = -1; size !== this.#underway.size;) {
      size = this.#underway.size;
      await Promise.all(this.#underway);
      for (let turn = 0; turn < 4; turn++) await setImmediate();
    }
    this.#underway.clear();
  }

  /** Does what a dispatcher does at each look: asks the remote, honours cancellations, and begins what is due. */
  async tick(): Promise<void> {
    const pools = this.#pools;
    if (pools === undefined) return;
    const isNews = this.clone.fetch();
    const { tip } = this.clone;
    const before = this.#scanned === undefined ? undefined : this.#pool.hub.at(this.#scanned);
    const files = this.#pool.hub.at(tip);
    const claims = [...files].flatMap(([path, text]) =>
      path.startsWith(FOLDER) && before?.get(path) !== text ? [path] : [],
    );
    const host = { alias: this.alias, actors: new Map([[ACTOR, []]]) } as unknown as ActiveHost;
    const scan = { claims, deliveries: [], configured: false } as never;
    await pools.follow({ host, tip, scan: before === undefined ? undefined : scan, isNews });
    this.#scanned = tip;
    if (files.has(CANCEL) && !this.#isHonoured) await this.#honour(pools);
    await this.#notify();
    await pools.leases.look();
    await this.#begin(pools, tip);
    void this.#track(this.#publisher?.flush() ?? Promise.resolve());
    await this.#rest();
  }

  async #honour(pools: Pools): Promise<void> {
    const isSaid = [...this.#pool.hub.at(this.clone.tip).keys()].some((path) =>
      path.startsWith(SAID),
    );
    const step = isSaid ? 'elsewhere' : await pools.cancelling({ ...TASK, message: MESSAGE });
    this.#isHonoured = true;
    if (step === 'elsewhere') return;
    await this.#dueNotice(step);
    await pools.cancelled(TASK);
    this.#isSettled = true;
    this.#running = undefined;
  }

  async #begin(pools: Pools, tip: string): Promise<void> {
    if (this.#isSettled || this.#running !== undefined || this.#isWaiting) return;
    if ((await this.#outbox.all()).some(({ delivery }) => delivery !== undefined)) return;
    const mail = { ...TASK, message: MESSAGE };
    if (!this.#isRetried && (await pools.ready(tip, [mail])).length === 0) return;
    await this.#claim(pools, [REL_PATH]);
  }

  async #claim(pools: Pools, messages: string[]): Promise<void> {
    const abandon = (): void => {
      for (const { run } of this.#running ?? []) this.lost.add(run);
      this.#running = undefined;
    };
    const questions = messages.length === 0 ? [`${CHANNEL}/${REL_PATH}`] : [];
    const job = { actor: ACTOR, channel: CHANNEL, messages, questions, abandon };
    const won = await pools.claim(job, 0, false);
    if (!won.ok) {
      if (won.isOver) this.#isSettled = true;
      return;
    }
    const [claim] = won.claims;
    if (claim === undefined) this.#pool.broken.push(`${this.alias} runs without a claim`);
    else if (!this.#pool.hub.files.has(`${FOLDER}/${String(claim.n)}.md`))
      this.#pool.broken.push(`${this.alias} runs before its claim is there`);
    this.#running = won.claims;
    if (claim !== undefined) this.runs.push(claim.run);
    const said = [...this.#pool.hub.at(this.clone.tip).keys()];
    const isAnswered = said.some((path) => path.startsWith(`${SAID}answer`));
    // A run of what is answered, or was taken back, ends at once.
    if (isAnswered) await this.#end(pools, won.claims, 'silent');
    else if (this.#isHonoured && claim !== undefined)
      await this.#end(pools, won.claims, 'cancelled');
  }

  /** Ends the run under way, or lets one go on whose thread waited for others. */
  async finish(outcome: Outcome): Promise<void> {
    const pools = this.#pools;
    if (pools === undefined) return;
    if (this.#isWaiting) await this.#goOn(pools);
    else if (this.#running !== undefined) await this.#end(pools, this.#running, outcome);
    await this.#rest();
  }

  /** Goes on with its thread, as the peer has answered. */
  async #goOn(pools: Pools): Promise<void> {
    const reply = { ...MESSAGE, from: 'peer', re: ['a task'] };
    const mail = { actor: ACTOR, channel: CHANNEL, relPath: 'a reply', message: reply };
    const isReady = (await pools.ready(this.clone.tip, [mail])).length > 0;
    if (!isReady && !this.#isSettled) return;
    this.#isWaiting = false;
    if (isReady) await this.#claim(pools, []);
  }

  async #end(pools: Pools, claims: OwnClaim[], outcome: Outcome | 'cancelled'): Promise<void> {
    const { leases } = pools;
    const publisher = this.#publisher;
    if (publisher === undefined) return;
    this.#running = undefined;
    const endAs = async (ending: Ending | 'waits'): Promise<void> => {
      const { push } = await leases.end(claims, () => ending);
      if (push !== undefined) void this.#track(push);
    };
    switch (outcome) {
      case 'answered': {
        const ending = { end: 'answered' } as const;
        const said = this.#commit(`${SAID}answer-${claims[0]?.run ?? ''}`);
        const delivery = { actor: ACTOR, channel: CHANNEL, messages: [REL_PATH] };
        const entry = { id: this.#id(), commits: [said], delivery };
        const step = leases.closing(claims, () => ending);
        await this.#outbox.put(fenced(entry, step));
        await leases.over(claims, () => ending);
        void this.#track(publisher.publish(entry.id));
        return;
      }
      case 'silent':
        await endAs({ end: 'silent' });
        this.#isSettled = true;
        return;
      case 'again': {
        const notBefore = new Date(this.#now().getTime() + 1000).toISOString();
        await endAs({ end: 'released', attempted: true, notBefore });
        this.#isRetried = true;
        return;
      }
      case 'stopped':
        await endAs({ end: 'released' });
        return;
      case 'waits':
        await endAs('waits');
        this.#isWaiting = true;
        return;
      case 'failed':
      case 'cancelled':
      case 'parked': {
        const ending = { end: outcome === 'parked' ? 'held' : outcome } as const;
        await this.#dueNotice(leases.closing(claims, () => ending));
        await leases.over(claims, () => ending);
        this.#isSettled = true;
        await this.#notify();
      }
    }
  }

  #commit(path: string): Commit {
    const at = this.#now().toISOString();
    return {
      at,
      author: authorOf(ACTOR, this.alias),
      subject: path,
      files: [{ path, content: at }],
    };
  }

  /** Keeps a notice that is due, as a letter does. */
  async #dueNotice(step: Parameters<DeadLetters['putToTell']>[1]): Promise<void> {
    const app = { now: this.#now, newId: () => this.#id() };
    const delivery = { actor: ACTOR, channel: CHANNEL, messages: [REL_PATH] };
    await this.#letters.putToTell(abandonedLetter(app, delivery, { host: '', at: '' }), step);
  }

  async #notify(): Promise<void> {
    for (const id of await this.#letters.dueNotices()) {
      const step = await this.#letters.claimOf(id);
      const commit = this.#commit(`${SAID}notice-${id}`);
      const entry = {
        id: this.#id(),
        commits: [step === undefined ? commit : behind(commit, step, { isLast: true })],
      };
      await this.#outbox.put(entry);
      await this.#letters.told(id);
      if (this.#publisher !== undefined) void this.#track(this.#publisher.publish(entry.id));
    }
  }

  /** Returns what is left on record here of claims. */
  async onRecord(): Promise<string[]> {
    const { own, watches } = new ClaimRecords(this.#root);
    return [...(await own.all()).map(({ run }) => run), ...(await watches.ids())];
  }

  /** Gives this machine the disk of another, as a restored backup does. */
  async restoreFrom(other: SimulatedHost): Promise<void> {
    const [theirs, ours] = [new ClaimRecords(other.#root), new ClaimRecords(this.#root)];
    for (const row of await theirs.own.all()) await ours.own.put(row);
    for (const row of await theirs.watches.all()) await ours.watches.put(row);
    for (const entry of await other.#outbox.all()) await this.#outbox.put(entry);
  }
}
