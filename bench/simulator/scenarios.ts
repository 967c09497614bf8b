import { remoteLimits } from '../../src/transport/clone/forges.ts';
import { columns } from './columns.ts';
import type { Costs } from './remote.ts';
import { simulate, type Load, type Outcome, type Setting } from './run.ts';

/** What the table is made for. */
export interface Wanted {
  seed: number;
  hosts: readonly number[];
  /** A push over a wide area, milliseconds. */
  latency: number;
  minutes: number;
  /** Letters of scenarios; all unless told. */
  only?: readonly string[];
}

export interface Row {
  scenario: string;
  load: string;
  hosts: number;
  outcome: Outcome;
}

type Scenario = Pick<Setting, 'costs' | 'limits' | 'repository'> & { name: string };

const LOADS: readonly [string, Load][] = [
  ['closed', 'closed'],
  ['1/min', { perMinute: 1 }],
  ['10/min', { perMinute: 10 }],
];

/** The remotes that are looked at, each host on a machine of its own. */
function scenariosOf(latency: number): Scenario[] {
  const lan = over(50, 0.1);
  const wan = over(latency, 0.3);
  const limits = remoteLimits('https://github.com/owner/repository.git', new Map()) ?? { host: '' };
  const { pushesPerMinute } = limits;
  return [
    { name: 'a LAN', costs: lan },
    { name: 'b WAN', costs: wan },
    { name: 'c forge, budget per machine', costs: wan, limits },
    {
      name: 'd forge, limit for all',
      costs: wan,
      limits,
      repository: { pushesPerMinute },
    },
  ];
}

/** A fetch saves the round trip of the pack; half of the time goes into the connection. */
function over(push: number, scatter: number): Costs {
  const cpu = { push: 0, fetch: 0, build: 10, message: 0 };
  return { push, fetch: push * 0.8, scatter, reads: 0.5, locks: 0.8, locked: 5, cpu };
}

/** Simulates all that is wanted. */
export async function rowsOf({ seed, hosts, latency, minutes, only }: Wanted): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, ...setting } of scenariosOf(latency)) {
    if (only !== undefined && !only.includes(name.charAt(0))) continue;
    for (const [load, value] of LOADS)
      for (const count of hosts) {
        const outcome = await simulate({ ...setting, seed, minutes, hosts: count, load: value });
        rows.push({ scenario: name, load, hosts: count, outcome });
      }
  }
  return rows;
}

/** Time of a core that git and we took on a machine with two, for one message and for sixteen. */
const CPU = { push: 16, fetch: 38, build: 10, message: 1.5 };
const LOCAL: Costs = {
  push: 8,
  fetch: 8,
  scatter: 0.1,
  reads: 0.2,
  locks: 0.8,
  locked: 3,
  cpu: CPU,
};
/** Pushes and fetches that wait 300 ms before the remote's side starts. */
const DELAYED: Costs = { ...LOCAL, push: 300, fetch: 300, scatter: 0, reads: 0.98, locks: 0.99 };

/** What was measured with real hosts, simulated: by hosts without dispatcher, one message after another. */
export function checksOf(seed: number): Promise<Row[]> {
  const check = async (
    scenario: string,
    setting: Omit<Setting, 'seed' | 'load' | 'minutes'>,
  ): Promise<Row> => ({
    scenario,
    load: 'closed',
    hosts: setting.hosts,
    outcome: await simulate({ seed, load: 'closed', minutes: 30, interval: null, ...setting }),
  });
  const sixteen = { hosts: 16, hostsPerMachine: 16 };
  const naive = { ...LOCAL, cpu: { push: 16, fetch: 25, build: 0, message: 0 } };
  return Promise.all([
    check('one machine, one host', { hosts: 1, messages: 20, costs: LOCAL }),
    check('one machine, in turns', { ...sixteen, messages: 20, costs: LOCAL }),
    check('one machine, pull --rebase', {
      ...sixteen,
      messages: 3,
      costs: naive,
      writer: 'rebase',
    }),
    check('300 ms, one host', { hosts: 1, messages: 10, costs: DELAYED }),
    check('300 ms, machines of their own', { hosts: 4, messages: 10, costs: DELAYED }),
    check('300 ms, machines of their own', { hosts: 16, messages: 5, costs: DELAYED }),
  ]);
}

/** The table, as text in columns. Seconds. */
export function tableOf(rows: readonly Row[]): string {
  const seconds = (ms: number): string => (ms / 1000).toFixed(ms < 9950 ? 2 : 0);
  return columns(2, [
    [
      'scenario',
      'load',
      'hosts',
      'messages/s',
      'p50 s',
      'p95 s',
      'longest s',
      'pushes per success',
      'messages per push',
      'slowest host',
      'waiting',
    ],
    ...rows.map(({ scenario, load, hosts, outcome }) => [
      scenario,
      load,
      String(hosts),
      outcome.perSecond.toFixed(2),
      seconds(outcome.p50),
      seconds(outcome.p95),
      seconds(outcome.longest),
      outcome.pushesPerWin.toFixed(2),
      outcome.messagesPerPush.toFixed(2),
      `${outcome.slowest.toFixed(2)}×`,
      String(outcome.sent - outcome.published),
    ]),
  ]);
}
