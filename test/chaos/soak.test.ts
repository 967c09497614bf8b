// @module-tag long
import { beforeAll, expect, it } from 'vitest';
import { ChaosBus } from './chaos-bus.ts';
import { buildDoomed } from './doomed-process.ts';
import { Random } from './random.ts';

const KILLS = Number(process.env['CHAOS_KILLS'] ?? '25');
const SEED = Number(process.env['CHAOS_SEED'] ?? String(Date.now() % 1_000_000));
const ACTORS = ['worker', 'worker', 'boss', 'chatty', 'flaky', 'quiet', 'failing'];
/** The most passed crash points after which a dispatcher dies: about three deliveries. */
const MAX_PASSES = 80;
/** A bus does not grow forever: its promises are checked and a new bus is used. */
const KILLS_PER_BUS = 50;

beforeAll(buildDoomed);

it(`${String(KILLS)} kills at random points lose nothing, duplicate nothing and repeat no recorded run (seed ${String(SEED)})`, async () => {
  const random = new Random(SEED);
  const total = { kills: 0, questions: 0, answered: 0, deadLetters: 0 };
  while (total.kills < KILLS) {
    const chaos = new ChaosBus();
    await chaos.open();
    const end = Math.min(KILLS, total.kills + KILLS_PER_BUS);
    while (total.kills < end) {
      await chaos.ask(random.pick(ACTORS));
      if (await chaos.doom('any', random.between(1, MAX_PASSES))) total.kills++;
    }
    await chaos.settle();
    const { questions, answered, deadLetters, problems } = await chaos.verdict();
    expect(problems).toEqual([]);
    total.questions += questions;
    total.answered += answered;
    total.deadLetters += deadLetters;
  }
  process.stdout.write(
    `${String(total.kills)} kills survived: ${String(total.questions)} questions, ${String(total.answered)} answered, ${String(total.deadLetters)} in the dead letters, 0 lost, 0 duplicated\n`,
  );
}, 7_200_000);
