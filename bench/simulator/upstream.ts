import type { Commit } from '../../src/protocol/outgoing.ts';
import type { Fetched } from '../../src/transport/clone/remote.ts';
import type { Failure } from '../../src/transport/git/failure.ts';
import type { Upstream } from '../../src/transport/publish/upstream.ts';
import type { Clock } from './clock.ts';
import type { Machine } from './machine.ts';
import { heightOf, type Costs, type Message, type Remote } from './remote.ts';

/**
 * What came of a push. Throttled: the remote refuses it, whatever is in it. Unanswered: the branch was
 * moved, and the connection was lost before anybody was told.
 */
type Pushed = 'ok' | 'behind' | 'throttled' | 'unanswered';

const FAILURES = {
  behind: { kind: 'behind', reason: 'somebody was faster' },
  throttled: { kind: 'unreachable', reason: 'HTTP 429' },
  unanswered: { kind: 'unreachable', reason: 'the connection was reset' },
} as const;

/** The bus as a host's git reaches it, which takes time and a core. */
export class SimulatedUpstream implements Upstream {
  readonly isShared = true;
  readonly pushes = { tried: 0, won: 0 };
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #remote: Remote;
  readonly #machine: Machine;
  readonly #costs: Costs;
  #known: string;
  readonly #lost: number;
  readonly #built = new Map<string, { oid: string; messages: Message[] }>();

  constructor(parts: {
    clock: Clock;
    random: () => number;
    remote: Remote;
    machine: Machine;
    costs: Costs;
    /** The share of pushes that get through and whose answer is lost. */
    lostAnswers?: number | undefined;
  }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#remote = parts.remote;
    this.#machine = parts.machine;
    this.#costs = parts.costs;
    this.#lost = parts.lostAnswers ?? 0;
    this.#known = parts.remote.tip;
  }

  /** The tip as known here. */
  get known(): string {
    return this.#known;
  }

  tip = (): Promise<string> => Promise.resolve(this.#known);

  async fetch(): Promise<Fetched> {
    const { cpu, fetch, reads } = this.#costs;
    const network = this.#scattered(fetch);
    await this.#clock.wait(network * reads);
    await this.#machine.work(cpu.fetch * reads);
    if (this.#remote.turnsReadAway()) return { ok: false, failure: FAILURES.throttled };
    const seen = this.#remote.tip;
    const check = seen === this.#known ? 0 : this.#check;
    await this.#clock.wait(network * (1 - reads) + check);
    await this.#machine.work(cpu.fetch * (1 - reads));
    this.#learn(seen);
    return { ok: true };
  }

  make(): never {
    throw new Error('the simulated remote always has its branch');
  }

  async admit(
    tip: string | undefined,
    entries: readonly (readonly Commit[])[],
  ): Promise<{ missing: Commit[]; refused: never[] }> {
    const height = heightOf(tip ?? this.#known);
    const missing = entries
      .flat()
      .filter((commit) => (this.#messageOf(commit).landed ?? Infinity) > height);
    return { missing, refused: [] };
  }

  async build(
    tip: string | undefined,
    commits: readonly Commit[],
  ): Promise<{ ok: true; oid: string }> {
    const { cpu } = this.#costs;
    await this.#machine.work(cpu.build + cpu.message * commits.length);
    const oid = this.#next(tip ?? this.#known);
    this.#built.set(oid, { oid, messages: commits.map((commit) => this.#messageOf(commit)) });
    return { ok: true, oid };
  }

  async move(from: string | undefined, to: string): Promise<Failure | undefined> {
    const built = this.#built.get(to);
    if (from === undefined || built === undefined) throw new Error('nothing was built');
    this.#built.delete(to);
    const pushed = await this.push(from, built.messages, built.oid);
    return pushed === 'ok' ? undefined : FAILURES[pushed];
  }

  /** One push of messages, built on a tip. */
  async push(base: string, messages: readonly Message[], to = this.#next(base)): Promise<Pushed> {
    const { push, reads, locks, locked, cpu } = this.#costs;
    const network = this.#scattered(push);
    this.pushes.tried++;
    this.#machine.pushes.push(this.#clock.now);
    await this.#clock.wait(network * reads);
    await this.#machine.work(cpu.push * reads);
    // Git sees for itself that it is behind, before it sends anything.
    if (this.#remote.turnsPushAway()) return 'throttled';
    if (this.#remote.tip !== base) return 'behind';
    const work = cpu.push + cpu.message * messages.length;
    await this.#clock.wait(network * (locks - reads) + this.#check);
    await this.#machine.work(work * (locks - reads));
    const moved = await this.#remote.move(base, to, messages, locked);
    await this.#clock.wait(network * (1 - locks));
    await this.#machine.work(work * (1 - locks));
    if (!moved) return 'behind';
    this.pushes.won++;
    if (this.#lost > 0 && this.#random() < this.#lost) return 'unanswered';
    this.#learn(to);
    return 'ok';
  }

  /** What git takes to compare what came with all that is there, in milliseconds. */
  get #check(): number {
    return ((this.#costs.growth ?? 0) * this.#remote.count) / 1000;
  }

  #learn(tip: string): void {
    if (heightOf(tip) > heightOf(this.#known)) this.#known = tip;
  }

  #next(base: string): string {
    return [heightOf(base) + 1, this.#remote.serial++].join('-');
  }

  #messageOf({ files }: Commit): Message {
    const message = this.#remote.messages.get(files[0]?.path ?? '');
    if (message === undefined) throw new Error('a commit without a message');
    return message;
  }

  #scattered(median: number): number {
    const { scatter } = this.#costs;
    if (scatter === 0 || median === 0) return median;
    const random = this.#random;
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return median * Math.exp(scatter * normal);
  }
}
