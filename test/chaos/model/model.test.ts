// @module-tag long
import { rmSync } from 'node:fs';
import os from 'node:os';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { replaceBuiltin } from '../../support/builtin.ts';
import { buildDoomed } from '../doomed-process.ts';
import { broken } from './promises.ts';
import { REGRESSIONS } from './regressions.ts';
import { runs, Step, type Plan } from './steps.ts';
import { giveClocks, hostnameHere } from './surroundings.ts';
import { World } from './world.ts';

replaceBuiltin(os, 'hostname', () => hostnameHere);

// CHAOS_MODEL_RUNS=<n>    so many random runs, instead of those that are kept
// CHAOS_SEED=<n>          which ones
// CHAOS_MODEL_PLAY=<text> the steps that are given, separated by commas, as a failure shows them
const RUNS = Number(process.env['CHAOS_MODEL_RUNS'] ?? '0');
const SEED = Number(process.env['CHAOS_SEED'] ?? String(Date.now() % 1_000_000));
const GIVEN = process.env['CHAOS_MODEL_PLAY'];
/** The most steps of a random run. */
const STEPS = 14;

/** Milliseconds for one run, even on a busy machine. */
const LIMIT_MS = 600_000;

beforeAll(async () => {
  giveClocks();
  await buildDoomed();
});

/** Carries out the steps in a new world, lets it finish, and checks it against the promises. */
async function play(steps: Iterable<fc.AsyncCommand<Plan, World>>): Promise<void> {
  const world = new World();
  await world.open();
  const model: Plan = {
    machines: new Set(world.machines.keys()),
    running: new Set(),
    saved: new Set(),
    isPlugged: true,
  };
  try {
    await fc.asyncModelRun(() => ({ model, real: world }), steps);
    const busy = await world.settle();
    const problems = [...(await broken(world)), ...busy.map((what) => `never quiet: ${what}`)];
    expect(problems, world.done.join()).toEqual([]);
  } finally {
    world.hub.plug();
    for (const machine of world.machines.values()) await machine.halt();
    rmSync(world.bus.root, { recursive: true, force: true });
  }
}

it.skipIf(GIVEN !== undefined || RUNS > 0).each(Object.entries(REGRESSIONS))(
  '%s',
  (_, { steps }) => play(steps.map((text) => new Step(text))),
  LIMIT_MS,
);

it.runIf(GIVEN !== undefined)(
  'plays what is given',
  () => play((GIVEN ?? '').split(',').map((text) => new Step(text.trim()))),
  LIMIT_MS,
);

it.runIf(RUNS > 0)(
  `${String(RUNS)} random runs of the model keep what was promised (seed ${String(SEED)})`,
  async () => {
    await fc.assert(
      fc.asyncProperty(runs(STEPS), (steps) => play(steps)),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    );
  },
  7_200_000,
);
