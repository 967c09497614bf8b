import { Clock, randomOf } from './clock.ts';
import { Host, type HostParts } from './host.ts';
import { Machine } from './machine.ts';
import { Times } from './times.ts';
import type { Window } from './window.ts';
import { Remote, type Costs, type Message, type RepositoryLimits } from './remote.ts';
import { intervalFor } from '../../src/dispatcher/pace.ts';
import type { Limits } from '../../src/state/remote-budget.ts';

/**
 * Messages of a host: one after another, or at random times, so many a minute; in bursts of some that are
 * handed over together, if told.
 */
export type Load = 'closed' | { perMinute: number; burst?: number };

export interface Setting {
  seed: number;
  hosts: number;
  /** How many of them share a machine; 1 unless told. */
  hostsPerMachine?: number;
  /** Cores of a machine; 2 unless told. */
  cores?: number;
  load: Load;
  /** Messages are sent for so long; then what waits is let through. */
  minutes: number;
  /** Each host sends so many and then stops. */
  messages?: number;
  costs: Costs;
  /** What a machine allows itself. */
  limits?: Pick<Limits, 'pushesPerMinute' | 'readsPerSecond'>;
  /** What the remote allows all machines together. */
  repository?: RepositoryLimits;
  writer?: HostParts['writer'];
  /** Milliseconds between polls at rest; null for hosts without a dispatcher; the program's pace unless told. */
  interval?: number | null;
  /** Milliseconds that a ring takes from one machine to another; no bell unless told. */
  bell?: number;
  /** The share of pushes that get through and whose answer is lost. */
  lostAnswers?: number;
  /** Milliseconds within which hosts start, at random; 100 unless told. */
  startWithin?: number;
  /** Messages that are on the branch at the beginning, and with how many it is archived. */
  held?: number;
  epochAt?: number;
}

/** What came of it. Times in milliseconds. */
export interface Outcome {
  sent: number;
  published: number;
  /** Sent and neither on the remote nor waiting. */
  lost: number;
  /** From `send` until the addressee's host has fetched it; and what no host has found in the end. */
  found: { p50: number; p95: number; longest: number };
  unfound: number;
  perSecond: number;
  p50: number;
  p95: number;
  longest: number;
  pushesPerWin: number;
  messagesPerPush: number;
  /** What the slowest host got through, as a share of the average. */
  slowest: number;
  /** What the remote was asked for: a second, on average and at most. */
  reads: { mean: number; most: number };
  tries: { mean: number; most: number };
  /** The most pushes of any minute that moved the branch. */
  mostMoves: number;
  /** What the limits of the repository turned away. */
  refused: { pushes: number; reads: number };
  /** Milliseconds until the last message was on the remote, and how often the branch began anew. */
  took: number;
  epochs: number;
  /** The most that one machine took from its budget in any sliding minute, and pushes that left. */
  mostPermits: number;
  mostPushes: number;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
/** So many times as long as messages were sent, what waits is given to leave. */
const DRAIN = 4;

/** Runs one setting; the same seed gives the same outcome. */
export async function simulate(setting: Setting): Promise<Outcome> {
  const clock = new Clock();
  const random = randomOf(setting.seed);
  // Of its own, so that the times of sending do not depend on whether messages are addressed.
  const chosen = randomOf(setting.seed + 1);
  const remote = new Remote(clock, setting.repository, setting);
  const end = setting.minutes * MINUTE_MS;
  const delays = new Times();
  const finds = new Times();
  const machines: Machine[] = [];
  let [sent, inTime, last] = [0, 0, 0];
  const pace = intervalFor({
    serving: 1,
    hosts: setting.hosts,
    reads: setting.limits?.readsPerSecond,
    isTold: setting.bell !== undefined,
  });
  const interval = setting.interval === null ? undefined : (setting.interval ?? pace.ms);
  const heedsAll = setting.bell === undefined && pace.isCrowded !== true;
  const isAddressed = interval !== undefined && setting.hosts > 1;
  const addressee = (from: number): number =>
    (from + 1 + Math.floor(chosen() * (setting.hosts - 1))) % setting.hosts;
  const hosts: Host[] = [];
  const { bell } = setting;
  const tell = (tip: string, named: ReadonlySet<number>): void => {
    clock.after(bell ?? 0, () => {
      for (const number of named) hosts[number]?.hear(tip);
    });
  };
  for (let number = 0; number < setting.hosts; number++) {
    if (number % (setting.hostsPerMachine ?? 1) === 0)
      machines.push(new Machine(clock, setting.cores ?? 2, setting.limits));
    const host = new Host({
      clock,
      random,
      remote,
      number,
      isAlone: (setting.hostsPerMachine ?? 1) === 1,
      machine: machines.at(-1) ?? new Machine(clock, 1),
      costs: setting.costs,
      writer: setting.writer ?? 'crosstalk',
      interval,
      heedsAll,
      lostAnswers: setting.lostAnswers,
      tell: bell === undefined ? undefined : tell,
      onPublished: (message: Message) => {
        delays.note(clock.now - message.sent);
        last = clock.now;
        if (clock.now <= end) inTime++;
        if (setting.load === 'closed') next();
      },
      onFound: (message: Message) => {
        finds.note(clock.now - message.sent);
      },
    });
    hosts.push(host);
    let left = setting.messages ?? Number.POSITIVE_INFINITY;
    const { perMinute, burst = 1 } = setting.load === 'closed' ? { perMinute: 0 } : setting.load;
    const send = (): void => {
      if (clock.now > end || left <= 0) return;
      const many = Math.min(burst, left);
      const to = isAddressed ? { to: addressee(number) } : {};
      left -= many;
      for (let one = 0; one < many; one++) {
        sent++;
        host.send({ path: `messages/${String(sent)}`, sent: clock.now, ...to });
      }
      if (setting.load !== 'closed') next();
    };
    const next = (): void => {
      const apart = (burst * MINUTE_MS) / perMinute;
      clock.after(setting.load === 'closed' ? 0 : -Math.log(1 - random()) * apart, send);
    };
    clock.after(random() * (setting.startWithin ?? 100), () => {
      void host.poll();
      next();
    });
  }
  const isLeft = (): boolean => remote.hasUnfound || hosts.some(({ waiting }) => waiting > 0);
  const goal = (setting.messages ?? Infinity) * setting.hosts;
  for (let ms = 0; ms < end && (sent < goal || isLeft()); ms += SECOND_MS)
    await clock.run(Math.min(end, ms + SECOND_MS));
  for (let ms = end; ms < end * (1 + DRAIN) && isLeft(); ms += SECOND_MS)
    await clock.run(ms + SECOND_MS);
  const sum = (of: (host: Host) => number): number =>
    hosts.reduce((total, host) => total + of(host), 0);
  const published = sum((host) => host.published);
  const won = sum(({ upstream }) => upstream.pushes.won);
  const rate = ({ total, most }: Window): { mean: number; most: number } => ({
    mean: total / (clock.now / 1000),
    most,
  });
  return {
    sent,
    published,
    lost: sent - published - sum(({ waiting }) => waiting),
    ...delays.spread,
    found: finds.spread,
    unfound: isAddressed ? published - finds.count : 0,
    perSecond: setting.messages === undefined ? inTime / (end / 1000) : published / (last / 1000),
    pushesPerWin: sum(({ upstream }) => upstream.pushes.tried) / won,
    messagesPerPush: published / won,
    slowest: (Math.min(...hosts.map((host) => host.published)) * hosts.length) / published,
    reads: rate(remote.reads),
    tries: rate(remote.tries),
    mostMoves: remote.moves.most,
    refused: remote.refused,
    took: last,
    epochs: remote.epochs,
    mostPermits: Math.max(...machines.map(({ permits }) => mostIn(permits))),
    mostPushes: Math.max(...machines.map(({ pushes }) => mostIn(pushes))),
  };
}

/** The most of ascending times that lie within one minute. */
function mostIn(times: readonly number[]): number {
  let [first, most] = [0, 0];
  times.forEach((time, n) => {
    while ((times[first] ?? 0) <= time - MINUTE_MS) first++;
    most = Math.max(most, n - first + 1);
  });
  return most;
}
