// The claims of one task, by the real code of claims, leases, conditions and outbox, on a branch in memory and with
// clocks that the test sets. POOL_WORLDS=2000 npx vitest run test/unit/claims-simulated.test.ts looks further.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatBeat, formatClaim, formatEnd, type ClaimEnding } from '../../src/protocol/claim.ts';
import type { Net } from '../support/simulated-hub.ts';
import { ENDINGS, LEASE_MS, SimulatedPool } from '../support/simulated-pool.ts';

const WORLDS = Number(process.env['POOL_WORLDS'] ?? '60');
const AT = '2026-11-30T12:00:00.000Z';
const DAY_MS = 86_400_000;

const host = fc.nat({ max: 3 });
const n = fc.integer({ min: 1, max: 4 });
const lease = fc.constantFrom(1000, LEASE_MS, DAY_MS);
const NETS: readonly Net[] = ['up', 'cut', 'lost'];
const ENDS: readonly ClaimEnding[] = [
  'answered',
  'silent',
  'failed',
  'cancelled',
  'held',
  'released',
];

/** What hosts, networks and clocks do by themselves. */
const honest = [
  { weight: 8, arbitrary: fc.record({ do: fc.constant('tick' as const), host }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      host,
      as: fc.constantFrom(...ENDINGS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('net' as const), host, net: fc.constantFrom(...NETS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restart' as const), host }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(2000, LEASE_MS / 3, LEASE_MS, 13 * 3_600_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
];

/** What anybody who can push may do as well, and somebody who restores a machine twice. */
const hostile = [
  ...honest,
  { weight: 1, arbitrary: fc.record({ do: fc.constant('copy' as const), host }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('claim' as const), n, lease }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('beat' as const), n, lease, waits: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('end' as const), n, end: fc.constantFrom(...ENDS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('junk' as const), n }) },
];

const worldOf = <T>(steps: fc.Arbitrary<T>) =>
  fc.record({ hosts: fc.integer({ min: 2, max: 4 }), steps: fc.array(steps, { maxLength: 40 }) });

type Step = (typeof hostile)[number]['arbitrary'] extends fc.Arbitrary<infer T> ? T : never;

async function take(pool: SimulatedPool, step: Step): Promise<void> {
  const one = 'host' in step ? pool.hosts[step.host % pool.hosts.length] : undefined;
  switch (step.do) {
    case 'tick':
      return one?.tick();
    case 'finish':
      return one?.finish(step.as);
    case 'restart':
      return one?.restart();
    case 'net':
      if (one !== undefined) one.clone.net = step.net;
      return;
    case 'pass':
      pool.time += step.ms;
      return;
    case 'cancel':
      pool.cancel();
      return;
    case 'copy':
      if (one !== undefined && pool.hosts.length < 6) await pool.copy(one);
      return;
    case 'claim': {
      const { current } = pool;
      pool.forge({
        [String(Math.max(step.n, current.n + 1))]: formatClaim({
          host: 'ghost',
          run: 'ghost.1',
          lease: step.lease,
          at: AT,
        }),
      });
      return;
    }
    case 'beat':
      pool.forge({
        [`${String(step.n)}.beat`]: formatBeat({
          run: 'ghost.1',
          at: AT,
          lease: step.lease,
          ...(step.waits && { waits: true }),
        }),
      });
      return;
    case 'end':
      pool.forge({
        [`${String(step.n)}.end`]: formatEnd({ end: step.end, run: 'ghost.1', at: AT }),
      });
      return;
    case 'junk':
      pool.forge({ [String(pool.current.n + step.n)]: 'nothing that can be read' });
  }
}

/** Lets all hosts do what is left, with a network and all the time that it takes. */
async function settle(pool: SimulatedPool): Promise<void> {
  for (const one of pool.hosts) one.clone.net = 'up';
  for (let round = 0; round < 20 && !pool.isSettled; round++) {
    for (const one of pool.hosts) {
      await one.tick();
      await one.finish('answered');
      await one.finish('answered');
    }
    pool.time += round < 10 ? LEASE_MS / 2 : DAY_MS;
  }
  for (const one of pool.hosts) await one.tick();
}

async function play(hosts: number, steps: readonly Step[]): Promise<SimulatedPool> {
  const pool = new SimulatedPool(hosts);
  for (const one of pool.hosts) await one.restart();
  for (const step of steps) await take(pool, step);
  await settle(pool);
  return pool;
}

describe('claims, in any order of what can happen', () => {
  it(
    'hosts that share a task have at most one current claim, say one thing, and settle it once',
    { tags: 'sampled' },
    async () => {
      await fc.assert(
        fc.asyncProperty(worldOf(fc.oneof(...honest)), async ({ hosts, steps }) => {
          const pool = await play(hosts, steps);
          expect(pool.broken).toEqual([]);
          expect(pool.isSettled).toBe(true);
          expect(pool.said).toHaveLength(pool.current.end === 'silent' ? 0 : 1);
          for (const one of pool.hosts) expect(await one.onRecord()).toEqual([]);
        }),
        { numRuns: WORLDS },
      );
    },
  );

  it(
    'forged claims and ends, and copied machines, take work away and make no second answer of it',
    { tags: 'sampled' },
    async () => {
      await fc.assert(
        fc.asyncProperty(worldOf(fc.oneof(...hostile)), async ({ hosts, steps }) => {
          const pool = await play(hosts, steps);
          expect(pool.broken).toEqual([]);
        }),
        { numRuns: WORLDS },
      );
    },
  );
});
