// @module-tag long
import { cpSync, lstatSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { buildDoomed } from './doomed-process.ts';
import { HISTORIES } from './histories.ts';
import { judge } from './judge.ts';
import { KILLS, prepareHub, tidyHub } from './kills.ts';
import { Random } from './random.ts';
import { World } from './world.ts';

const KILL_COUNT = Number(process.env['CHAOS_WIDE_KILLS'] ?? '5');
const HISTORY_COUNT = Number(process.env['CHAOS_HISTORY'] ?? '3');
const HOSTS = Number(process.env['CHAOS_HOSTS'] ?? '3');
const SEED = Number(process.env['CHAOS_SEED'] ?? '13');
/** Only these faults, by name; used to search for a cause. */
const ONLY = process.env['CHAOS_ONLY']?.split(',');
/** A bus does not grow forever: its promises are checked and a new bus is used. */
const FAULTS_PER_BUS = 30;
/** How often another fault of a kind is tried when one is not possible at the moment. */
const MAX_MISSES = 50;

beforeAll(buildDoomed);

it(`${String(KILL_COUNT)} kills and ${String(HISTORY_COUNT)} faults of history on ${String(HOSTS)} machines lose nothing, and answer nothing twice or with another’s answer (seed ${String(SEED)})`, async () => {
  const random = new Random(SEED);
  const total = new Totals();
  const left = { kills: KILL_COUNT, histories: HISTORY_COUNT };
  while (left.kills + left.histories > 0) {
    const share = Math.min(1, FAULTS_PER_BUS / (left.kills + left.histories));
    const kills = Math.ceil(left.kills * share);
    const histories = Math.ceil(left.histories * share);
    left.kills -= kills;
    left.histories -= histories;
    await oneWorld(random, total, kills, histories);
  }
  process.stdout.write(total.text());
  expect(total.problems).toEqual([]);
}, 36_000_000);

/** One bus with its faults, from its first question to the verdict. */
async function oneWorld(
  random: Random,
  total: Totals,
  kills: number,
  histories: number,
): Promise<void> {
  const world = new World(random);
  await world.open(HOSTS);
  prepareHub(world);
  const kinds = random.shuffle([
    ...Array.from({ length: kills }, () => KILLS),
    ...Array.from({ length: histories }, () => HISTORIES),
  ]);
  for (const faults of kinds) {
    const wanted = Object.keys(faults).filter((name) => ONLY?.includes(name) ?? true);
    for (let misses = 0; wanted.length > 0 && misses < MAX_MISSES; misses++) {
      for (let asks = random.between(0, 2); asks > 0; asks--) await world.ask();
      const name = random.pick(wanted);
      const done = await faults[name]?.(world);
      await tidyHub(world);
      world.startAll();
      if (done !== true) continue;
      world.faults.push(name);
      total.fault(name);
      break;
    }
  }
  const restless = await world.settle();
  await world.stopAll();
  // What a start finds is cleaned up or continued: the verdict is about what is left after it.
  const starts = await Promise.all(
    world.machines.map(({ host }) => host.run('dispatch', '--once', '--host', host.alias)),
  );
  const judged = await judge(world);
  total.world(world, judged);
  if (restless !== undefined) total.problems.push(`stranded: ${restless}`);
  const bad = judged.problems.map(({ kind, text }) => `${kind}: ${text}`);
  bad.push(...world.machines.flatMap(({ ends }) => ends));
  bad.push(...starts.filter(({ code }) => code !== 0).map(({ err }) => err));
  if (bad.length + Number(restless !== undefined) === 0) return;
  const said = world.machines.reduce((sum, { gone }) => sum + gone, 0);
  const text = `world ${String(total.worlds)} after ${world.faults.join(', ')}; said to be gone: ${String(said)}\n${bad.join('\n')}`;
  total.problems.push(text);
  process.stdout.write(`${text}\n${restless ?? ''}\n`);
  const keep = process.env['CHAOS_KEEP'];
  if (keep === undefined) return;
  const filter = (path: string): boolean => !lstatSync(path).isSocket();
  cpSync(world.bus.root, `${keep}/${String(total.worlds)}`, { recursive: true, filter });
}

/** The totals of all worlds. */
class Totals {
  worlds = 0;
  readonly problems: string[] = [];
  readonly #faults = new Map<string, number>();
  #asked = 0;
  #questions = 0;
  #answers = 0;
  #dead = 0;
  readonly #kinds = new Map<string, number>();

  fault(name: string): void {
    this.#faults.set(name, (this.#faults.get(name) ?? 0) + 1);
  }

  world(world: World, judged: Awaited<ReturnType<typeof judge>>): void {
    this.worlds++;
    this.#asked += world.asked.length;
    this.#questions += judged.questions;
    this.#answers += judged.answers;
    this.#dead += judged.deadLetters;
    for (const { kind } of judged.problems) this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1);
    const at = `bus ${String(this.worlds)}: ${String(world.faults.length)} faults, ${String(world.asked.length)} asked, ${String(judged.questions)} questions, ${String(judged.problems.length)} problems`;
    process.stdout.write(`${new Date().toISOString()} ${at}\n`);
  }

  text(): string {
    const faults = [...this.#faults].map(([name, count]) => `${String(count)} ${name}`).join(', ');
    const of = (kind: string): string => String(this.#kinds.get(kind) ?? 0);
    return [
      `faults on ${String(this.worlds)} buses: ${faults}`,
      `${String(this.#asked)} asked by people, ${String(this.#questions)} questions in all: ${String(this.#answers)} answered, ${String(this.#dead)} in the dead letters`,
      `${of('lost')} lost, ${of('twice')} answered twice, ${of("another's")} with another's answer, ${String(this.problems.filter((text) => text.startsWith('stranded')).length)} stranded, ${of('broken')} broken files`,
      '',
    ].join('\n');
  }
}
