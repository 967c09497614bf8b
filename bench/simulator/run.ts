import { Clock, randomOf } from './clock.ts';
import { Host, type HostParts } from './host.ts';
import { Machine } from './machine.ts';
import { Remote, type Costs, type Message } from './remote.ts';
import type { Limits } from '../../src/state/remote-budget.ts';

/** Messages of a host: one after another, or at random times, so many a minute. */
export type Load = 'closed' | { perMinute: number };

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
  /** Under closed load: each host sends so many and then stops. */
  messages?: number;
  costs: Costs;
  /** What a machine allows itself. */
  limits?: Pick<Limits, 'pushesPerMinute' | 'readsPerSecond'>;
  /** What the remote allows all machines together, a minute. */
  repositoryLimit?: number;
  writer?: HostParts['writer'];
  /** Milliseconds between polls at rest; null for hosts without a dispatcher. 30 s unless told. */
  interval?: number | null;
}

/** What came of it. Times in milliseconds. */
export interface Outcome {
  sent: number;
  published: number;
  /** Sent and neither on the remote nor waiting. */
  lost: number;
  perSecond: number;
  p50: number;
  p95: number;
  longest: number;
  pushesPerWin: number;
  messagesPerPush: number;
  /** What the slowest host got through, as a share of the average. */
  slowest: number;
  /** The most that one machine took from its budget in any sliding minute, and pushes that left. */
  mostPermits: number;
  mostPushes: number;
}

const MINUTE_MS = 60_000;
/** So many times as long as messages were sent, what waits is given to leave. */
const DRAIN = 4;

/** Runs one setting; the same seed gives the same outcome. */
export async function simulate(setting: Setting): Promise<Outcome> {
  const clock = new Clock();
  const random = randomOf(setting.seed);
  const remote = new Remote(clock, setting.repositoryLimit);
  const end = setting.minutes * MINUTE_MS;
  const delays: number[] = [];
  const machines: Machine[] = [];
  let [sent, inTime, last] = [0, 0, 0];
  const hosts = Array.from({ length: setting.hosts }, (_, n) => {
    if (n % (setting.hostsPerMachine ?? 1) === 0)
      machines.push(new Machine(clock, setting.cores ?? 2, setting.limits));
    const host = new Host({
      clock,
      random,
      remote,
      machine: machines.at(-1) ?? new Machine(clock, 1),
      costs: setting.costs,
      writer: setting.writer ?? 'crosstalk',
      interval: setting.interval === null ? undefined : (setting.interval ?? 30_000),
      onPublished: (message: Message) => {
        delays.push(clock.now - message.sent);
        last = clock.now;
        if (clock.now <= end) inTime++;
        if (setting.load === 'closed') next();
      },
    });
    let left = setting.messages ?? Number.POSITIVE_INFINITY;
    const send = (): void => {
      if (clock.now > end || left-- <= 0) return;
      sent++;
      host.send({ path: `messages/${String(sent)}`, sent: clock.now });
      if (setting.load !== 'closed') next();
    };
    const next = (): void => {
      clock.after(
        setting.load === 'closed'
          ? 0
          : (-Math.log(1 - random()) * MINUTE_MS) / setting.load.perMinute,
        send,
      );
    };
    clock.after(random() * 100, () => {
      void host.poll();
      next();
    });
    return host;
  });
  await clock.run(end);
  for (let ms = end; ms < end * (1 + DRAIN) && hosts.some(({ waiting }) => waiting > 0); ms += 1000)
    await clock.run(ms + 1000);
  const sum = (of: (host: Host) => number): number =>
    hosts.reduce((total, host) => total + of(host), 0);
  const sorted = delays.sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  const published = sum((host) => host.published);
  const won = sum(({ upstream }) => upstream.pushes.won);
  return {
    sent,
    published,
    lost: sent - published - sum(({ waiting }) => waiting),
    perSecond: setting.messages === undefined ? inTime / (end / 1000) : published / (last / 1000),
    p50: at(0.5),
    p95: at(0.95),
    longest: sorted.at(-1) ?? Number.NaN,
    pushesPerWin: sum(({ upstream }) => upstream.pushes.tried) / won,
    messagesPerPush: published / won,
    slowest: (Math.min(...hosts.map((host) => host.published)) * hosts.length) / published,
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
