import { describe, expect, it } from 'vitest';
import type { Costs } from '../../bench/simulator/remote.ts';
import { simulate, type Outcome, type Setting } from '../../bench/simulator/run.ts';
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

function run(setting: Partial<Setting> & { hosts: number }): Promise<Outcome> {
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
  it('the same seed makes the same table, another one another', { tags: 'long' }, async () => {
    const table = async (seed: number): Promise<string> =>
      tableOf(await rowsOf({ seed, hosts: [1, 8], latency: 600, minutes: 2 }));
    const first = await table(1);
    expect(await table(1)).toBe(first);
    expect(await table(2)).not.toBe(first);
  });

  it.each([
    ['a remote without limits', {}],
    ['a push budget', FORGE],
    ['a remote that turns pushes away', { ...FORGE, repository: { pushesPerMinute: 6 } }],
    ['machines of eight hosts', { hostsPerMachine: 8 }],
  ])('no message is lost or published twice with %s', async (_, setting) => {
    const { sent, published, lost } = await run({ hosts: 32, ...setting });
    expect(sent).toBeGreaterThan(1000);
    expect(lost).toBe(0);
    if (!('repository' in setting)) expect(published).toBe(sent);
  });

  it.each(['closed' as const, { perMinute: 10 }])(
    'with a budget of six no machine takes more pushes in any minute',
    async (load) => {
      const { mostPermits, mostPushes } = await run({ hosts: 32, load, minutes: 10, ...FORGE });
      expect(mostPermits).toBe(6);
      // A push that lost a race takes its permit before its fetch, so it starts a little later.
      expect(mostPushes).toBeLessThanOrEqual(7);
    },
  );

  it('eight times as many hosts get no less through', { tags: 'long' }, async () => {
    const through = async (hosts: number, setting: Partial<Setting>): Promise<number> =>
      (await run({ hosts, ...setting })).perSecond;
    const closed: Partial<Setting> = { load: 'closed', minutes: 2 };
    expect(await through(128, closed)).toBeGreaterThan(await through(16, closed));
    expect(await through(128, {})).toBeGreaterThan(4 * (await through(16, {})));
    expect(await through(128, FORGE)).toBeGreaterThan(2 * (await through(16, FORGE)));
  });

  it('hosts on one machine push along, and come near to what was measured', async () => {
    const checks = await checksOf(1);
    const turns = checks.find(({ scenario }) => scenario === 'one machine, in turns');
    expect(turns?.outcome.perSecond).toBeGreaterThan(28);
    expect(turns?.outcome.perSecond).toBeLessThan(50);
    expect(turns?.outcome.p95).toBeLessThan(1000);
    expect(turns?.outcome.messagesPerPush).toBeGreaterThan(5);
    const naive = checks.find(({ scenario }) => scenario === 'one machine, pull --rebase');
    expect(naive?.outcome.perSecond).toBeLessThan(8);
  });

  it('with lost answers and archives, each message is on the branch once and is found by its host', async () => {
    const setting = { hosts: 16, bell: 50, lostAnswers: 0.2, epochAt: 200 };
    const { sent, published, lost, unfound, epochs } = await run(setting);
    expect(epochs).toBeGreaterThan(2);
    expect([lost, unfound]).toEqual([0, 0]);
    expect(published).toBe(sent);
  });

  it('hosts of a repository with limits stay within them, and all mail is found', async () => {
    const limits = { pushesPerMinute: 6, readsPerSecond: 15 };
    const setting = { hosts: 25, limits, repository: limits, startWithin: 30_000, minutes: 10 };
    const outcome = await run({ ...setting, load: { perMinute: 0.1 } });
    expect(outcome.published).toBe(outcome.sent);
    expect(outcome.unfound).toBe(0);
    expect(outcome.refused.reads).toBe(0);
    expect(outcome.mostMoves).toBeLessThanOrEqual(6);
  });

  it('with a bell mail is found sooner, and the remote is asked less', async () => {
    const setting = { hosts: 32, load: { perMinute: 1 }, startWithin: 30_000 };
    const [polls, bell] = [await run(setting), await run({ ...setting, bell: 50 })];
    expect(bell.found.p50).toBeLessThan(polls.found.p50);
    expect(bell.reads.mean).toBeLessThan(polls.reads.mean);
    expect(bell.unfound + polls.unfound).toBe(0);
  });

  it('a remote that accepts six pushes a minute accepts no more, however many ask', async () => {
    const { published, messagesPerPush } = await run({
      hosts: 32,
      load: 'closed',
      minutes: 10,
      ...FORGE,
      repository: { pushesPerMinute: 6 },
    });
    // Messages are sent for ten minutes, then the waiting ones for at most four times as long.
    expect(published / messagesPerPush).toBeLessThanOrEqual(6 * 50 + 6);
  });
});
