import { beforeAll, expect, it } from 'vitest';
import { CRASH_POINTS } from '../../src/crash-points.ts';
import { ChaosBus, PATIENCE_MS } from './chaos-bus.ts';
import { buildDoomed } from './doomed-process.ts';

beforeAll(buildDoomed);

it.each(CRASH_POINTS.map((point) => [point]))(
  'a dispatcher that is killed at %s loses nothing and repeats nothing that was recorded',
  async (point) => {
    const chaos = new ChaosBus();
    await chaos.open();
    for (const actor of ['worker', 'failing', 'flaky', 'boss', 'quiet']) await chaos.ask(actor);
    let died = 0;
    for (const count of [1, 2, 3]) if (await chaos.doom(point, count)) died++;
    await chaos.settle();
    expect(died).toBeGreaterThan(0);
    expect((await chaos.verdict()).problems).toEqual([]);
  },
  PATIENCE_MS,
);
