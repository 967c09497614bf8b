import { describe, expect, it } from 'vitest';
import type { Costs } from '../../bench/simulator/remote.ts';
import { simulate, type Setting } from '../../bench/simulator/run.ts';
import { checksOf, rowsOf, tableOf } from '../../bench/simulator/scenarios.ts';
import { waitFor } from '../../src/state/remote-budget.ts';
import { backOffMs, MAX_ATTEMPTS } from '../../src/transport/publish/publish.ts';

const WAN: Costs = {
  push: 600,
  fetch: 480,
  scatter: 0.3,
  reads: 0.5,
  locks: 0.8,
  locked: 5,
  cpu: { push: 0, fetch: 0, build: 10, message: 0 },
};
const FORGE: Partial<Setting> = { limits: { pushesPerMinute: 6, readsPerSecond: 15 } };

function run(setting: Partial<Setting> & { hosts: number }): ReturnType<typeof simulate> {
  return simulate({ seed: 1, load: { perMinute: 10 }, minutes: 5, costs: WAN, ...setting });
}

describe('what the simulator takes from the program', () => {
  it('the wait after a lost race doubles up to a second', () => {
    const longest = Array.from({ length: MAX_ATTEMPTS }, (_, n) => backOffMs(n + 1, 1));
    expect(longest.slice(0, 8)).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000]);
    expect(longest.at(-1)).toBe(1000);
    expect(backOffMs(5, 0)).toBe(0);
  });

  it('a budget that is used up is free again when its oldest push has left the window', () => {
    expect(waitFor([0, 10, 20], 4, 60_000, 30)).toBe(0);
    expect(waitFor([0, 10, 20], 3, 60_000, 30)).toBe(59_970);
    expect(waitFor([0, 10, 20], 2, 60_000, 30)).toBe(59_980);
  });
});

describe('many hosts in simulated time', () => {
  it('the same seed makes the same table, another one another', () => {
    const table = (seed: number): string =>
      tableOf(rowsOf({ seed, hosts: [1, 8], latency: 600, minutes: 2 }));
    expect(table(1)).toBe(table(1));
    expect(table(1)).not.toBe(table(2));
  });

  it.each([
    ['a remote without limits', {}],
    ['a push budget', FORGE],
    ['a remote that turns pushes away', { ...FORGE, repositoryLimit: 6 }],
    ['machines of eight hosts', { hostsPerMachine: 8 }],
  ])('no message is lost or published twice with %s', (_, setting) => {
    const { sent, published, lost } = run({ hosts: 32, ...setting });
    expect(sent).toBeGreaterThan(1000);
    expect(lost).toBe(0);
    if (!('repositoryLimit' in setting)) expect(published).toBe(sent);
  });

  it.each(['closed' as const, { perMinute: 10 }])(
    'with a budget of six no machine takes more pushes in any minute',
    (load) => {
      const { mostPermits, mostPushes } = run({ hosts: 32, load, minutes: 10, ...FORGE });
      expect(mostPermits).toBe(6);
      // A push that lost a race takes its permit before its fetch, so it starts a little later.
      expect(mostPushes).toBeLessThanOrEqual(7);
    },
  );

  it('eight times as many hosts get no less through', () => {
    const through = (hosts: number, setting: Partial<Setting>): number =>
      run({ hosts, ...setting }).perSecond;
    expect(through(128, { load: 'closed' })).toBeGreaterThan(through(16, { load: 'closed' }));
    expect(through(128, {})).toBeGreaterThan(4 * through(16, {}));
    expect(through(128, FORGE)).toBeGreaterThan(2 * through(16, FORGE));
  });

  it('hosts on one machine push along, and come near to what was measured', () => {
    const checks = checksOf(1);
    const turns = checks.find(({ scenario }) => scenario === 'one machine, in turns');
    expect(turns?.outcome.perSecond).toBeGreaterThan(28);
    expect(turns?.outcome.perSecond).toBeLessThan(50);
    expect(turns?.outcome.p95).toBeLessThan(1000);
    expect(turns?.outcome.messagesPerPush).toBeGreaterThan(5);
    const naive = checks.find(({ scenario }) => scenario === 'one machine, pull --rebase');
    expect(naive?.outcome.perSecond).toBeLessThan(8);
  });

  it('a remote that accepts six pushes a minute accepts no more, however many ask', () => {
    const { published, messagesPerPush } = run({
      hosts: 32,
      load: 'closed',
      minutes: 10,
      ...FORGE,
      repositoryLimit: 6,
    });
    // Messages are sent for ten minutes, then the waiting ones for at most four times as long.
    expect(published / messagesPerPush).toBeLessThanOrEqual(6 * 50 + 6);
  });
});
