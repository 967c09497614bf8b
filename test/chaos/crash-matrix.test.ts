import { beforeAll, expect, it } from 'vitest';
import { CRASH_POINTS } from '../../src/crash-points.ts';
import { ChaosBus } from './chaos-bus.ts';
import { buildDoomed } from './doomed-process.ts';
import { sample } from '../support/form.ts';

beforeAll(buildDoomed);

/** Passed by mail at a gate alone; `gate-kills.test.ts` dies there. */
const OF_GATES = ['gate_written', 'proposal_queued', 'decision_written', 'denial_queued'];
/** Passed by schedules alone; `schedule-kills.test.ts` dies there. */
const OF_SCHEDULES = ['schedule_queued', 'schedule_recorded'];
/** Passed for answers of other hosts alone; `subscription-kills.test.ts` dies there. */
const OF_SUBSCRIPTIONS = ['subscription_queued', 'subscription_recorded'];
/** Passed in tiers that keep sessions alone; `session-kills.test.ts` dies there. */
const OF_SESSIONS = ['session_under', 'session_kept'];
/** Passed where processes are kept alone; `warm-kills.test.ts` dies there. */
const OF_WARM = ['warm_recorded', 'warm_waits', 'warm_ended'];
/** Passed by messages for a run under way alone; `warm-kills.test.ts` dies there. */
const OF_STEERING = ['steering_recorded', 'steering_told'];
const ELSEWHERE = [
  ...[...OF_GATES, ...OF_SCHEDULES, ...OF_SUBSCRIPTIONS],
  ...[...OF_SESSIONS, ...OF_WARM, ...OF_STEERING],
];

it.each(sample(CRASH_POINTS.filter((point) => !ELSEWHERE.includes(point)).map((point) => [point])))(
  'a dispatcher that is killed at %s loses nothing and repeats nothing that was recorded',
  { tags: 'sampled' },
  async (point) => {
    const chaos = new ChaosBus();
    const isInCopy = /^(?:tree|branch|transcript)_/.test(point);
    await chaos.open(isInCopy);
    for (const actor of isInCopy
      ? ['coder', 'worker']
      : ['worker', 'failing', 'flaky', 'boss', 'chatty', 'quiet', 'billed'])
      await chaos.ask(actor);
    let died = 0;
    for (const count of isInCopy ? [1, 1, 2] : [1, 2, 3])
      if (await chaos.doom(point, count)) died++;
    await chaos.settle();
    expect(died).toBeGreaterThan(0);
    expect((await chaos.verdict()).problems).toEqual([]);
  },
);

it(
  'a word on the way that another process publishes for a killed dispatcher is not said, and paid for, again',
  { tags: 'long' },
  async () => {
    const chaos = new ChaosBus();
    await chaos.open();
    // From now on there are cursors, so that a start looks at what came after them.
    await chaos.settle();
    await chaos.ask('chatty');
    expect(await chaos.doom('output_recorded', 1)).toBe(true);
    await chaos.host.run('sync');
    await chaos.settle();

    const { problems } = await chaos.verdict();
    const words = chaos.bus.from('chatty').filter(({ message }) => message.interim === true);
    expect(words).toHaveLength(1);
    expect(problems).toEqual([]);
  },
);

it(
  'a run whose output was recorded was not interrupted, however often it was before',
  { tags: 'long' },
  async () => {
    const chaos = new ChaosBus();
    await chaos.open();
    await chaos.ask('worker');
    for (let run = 0; run < 4; run++) expect(await chaos.doom('cli_ended', 1)).toBe(true);
    expect(await chaos.doom('output_recorded', 1)).toBe(true);
    await chaos.settle();

    expect(await chaos.verdict()).toMatchObject({ answered: 1, deadLetters: 0, problems: [] });
  },
);
