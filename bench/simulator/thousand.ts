import { remoteLimits } from '../../src/transport/clone/forges.ts';
import { columns } from './columns.ts';
import type { Costs } from './remote.ts';
import { simulate, type Outcome, type Setting } from './run.ts';

/** One line of the table: so many transports alike, each with hosts of its own. */
interface Trial {
  name: string;
  transports: number;
  setting: Omit<Setting, 'seed'>;
}

export interface Tried {
  trial: Trial;
  outcome: Outcome;
}

const HOSTS = 1000;
/** A team's share of them. */
const TEAM = 25;
const LAN = over(50, 0.1);
const WAN = over(600, 0.3);
/** What a ring takes within a building, and over a wide area. Milliseconds. */
const [NEAR, FAR] = [1, 50];
const LIMITS = remoteLimits('https://github.com/owner/repository.git', new Map()) ?? { host: '' };
/** Each host sends once in ten minutes, for ten minutes. */
const SELDOM = { load: { perMinute: 0.1 }, minutes: 10, startWithin: 30_000 };
/** What is handed over together when millions of messages are sent. */
const BURST = 1000;

/**
 * A thousand hosts on machines of their own, on one branch and on one for each team; and messages by the
 * million through one branch, with answers of pushes that are lost on the way.
 *
 * @param millions of messages
 */
function trialsOf(millions: number): Trial[] {
  const forge = { costs: WAN, limits: LIMITS, repository: LIMITS, ...SELDOM };
  const one = (name: string, setting: Omit<Setting, 'seed' | 'hosts'>): Trial => ({
    name,
    transports: 1,
    setting: { hosts: HOSTS, ...setting },
  });
  const teams = (name: string, setting: Omit<Setting, 'seed' | 'hosts'>): Trial => ({
    name,
    transports: HOSTS / TEAM,
    setting: { hosts: TEAM, ...setting },
  });
  const each = (millions * 1e6) / HOSTS;
  const perMinute = BURST / 20;
  return [
    one('a LAN, polls', { costs: LAN, ...SELDOM }),
    one('b LAN, bell', { costs: LAN, ...SELDOM, bell: NEAR }),
    one('c WAN, polls', { costs: WAN, ...SELDOM }),
    one('d WAN, bell', { costs: WAN, ...SELDOM, bell: FAR }),
    one('e forge, polls', forge),
    one('f forge, bell', { ...forge, bell: FAR }),
    teams('g forge, teams, polls', forge),
    teams('h forge, teams, bell', { ...forge, bell: FAR }),
    one(`i WAN, bell, ${String(millions)} million`, {
      costs: { ...WAN, growth: GROWTH },
      load: { perMinute, burst: BURST },
      // Bursts come at random times: some hosts are done much later than the average one.
      minutes: (4 * each) / perMinute,
      messages: each,
      startWithin: 30_000,
      bell: FAR,
      lostAnswers: 0.001,
      epochAt: 1e6,
    }),
  ];
}

/**
 * What git's check of what came takes more for each thousand messages that are there, in milliseconds: it
 * was 350 ms with a million (docs/performance.md, the tick with ten new messages).
 */
const GROWTH = 0.35;

/** A fetch saves the round trip of the pack; half of the time goes into the connection. */
function over(push: number, scatter: number): Costs {
  const cpu = { push: 0, fetch: 0, build: 10, message: 0.05 };
  return { push, fetch: push * 0.8, scatter, reads: 0.5, locks: 0.8, locked: 5, cpu };
}

/** @param only letters of trials; all unless told */
export async function tryAll(
  seed: number,
  millions: number,
  only: readonly string[] | undefined,
  done: (tried: Tried) => void,
): Promise<Tried[]> {
  const all: Tried[] = [];
  for (const trial of trialsOf(millions)) {
    if (only?.includes(trial.name.charAt(0)) === false) continue;
    const tried = { trial, outcome: await simulate({ ...trial.setting, seed }) };
    all.push(tried);
    done(tried);
  }
  return all;
}

/** The table, as text in columns. Seconds; rates are those of one transport. */
export function thousandTable(rows: readonly Tried[]): string {
  const s = (ms: number): string => (ms / 1000).toFixed(ms < 9950 ? 2 : 0);
  const rate = ({ mean, most }: { mean: number; most: number }): string =>
    `${mean.toFixed(mean < 10 ? 1 : 0)}, ${String(most)}`;
  return columns(1, [
    [
      'trial',
      'transports',
      'hosts each',
      'sent',
      'on the remote: p50 s',
      'p95',
      'found: p50 s',
      'p95',
      'longest',
      'reads/s: mean, most',
      'pushes/s: mean, most',
      'accepted/min: most',
      'pushes per success',
      'turned away: pushes, reads',
      'lost',
      'waiting',
      'not found',
      'epochs',
      'minutes',
    ],
    ...rows.map(({ trial, outcome }) => [
      trial.name,
      String(trial.transports),
      String(trial.setting.hosts),
      String(outcome.sent),
      s(outcome.p50),
      s(outcome.p95),
      s(outcome.found.p50),
      s(outcome.found.p95),
      s(outcome.found.longest),
      rate(outcome.reads),
      rate(outcome.tries),
      String(outcome.mostMoves),
      outcome.pushesPerWin.toFixed(2),
      `${String(outcome.refused.pushes)}, ${String(outcome.refused.reads)}`,
      String(outcome.lost),
      String(outcome.sent - outcome.published),
      String(outcome.unfound),
      String(outcome.epochs),
      (outcome.took / 60_000).toFixed(1),
    ]),
  ]);
}
