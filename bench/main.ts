// npm run bench [-- --only commands,ticks] [--quick]: measures and prints one table.
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { bell } from './figures/bell.ts';
import { commands } from './figures/commands.ts';
import { cost } from './figures/cost.ts';
import { deliveries } from './figures/deliveries.ts';
import { files } from './figures/files.ts';
import { hosts } from './figures/hosts.ts';
import { idle } from './figures/idle.ts';
import { many } from './figures/many.ts';
import { objects } from './figures/objects.ts';
import { page } from './figures/page.ts';
import { polls } from './figures/polls.ts';
import { pools } from './figures/pools.ts';
import { roundtrip } from './figures/roundtrip.ts';
import { sandbox } from './figures/sandbox.ts';
import { scale as growth } from './figures/scale.ts';
import { searches } from './figures/search.ts';
import { secrets } from './figures/secrets.ts';
import { stages } from './figures/stages.ts';
import { ticks } from './figures/ticks.ts';
import { warm } from './figures/warm.ts';
import { worktree } from './figures/worktree.ts';
import type { Figure, Scale } from './figure.ts';
import { plot, type Series } from './plot.ts';
import { rivalOf } from './rival.ts';

const SUITES: Record<string, (scale: Scale) => Promise<Figure[]>> = {
  commands,
  stages,
  files,
  roundtrip,
  bell,
  polls,
  ticks,
  deliveries,
  many,
  hosts,
  pools,
  idle,
  objects,
  scale: growth,
  search: searches,
  page,
  cost,
  worktree,
  sandbox,
  secrets,
  warm,
};

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    streams: { type: 'string' },
    seconds: { type: 'string' },
    out: { type: 'string', default: 'bench/results' },
  },
});
const FULL: Scale = {
  rounds: 30,
  sizes: [1000, 100_000, 1_000_000],
  idle: 600,
  hosts: 50,
  polls: 60,
  sends: 100_000,
  deliveries: 100_000,
  streams: 100,
  streaming: 600,
};
const QUICK: Scale = {
  rounds: 8,
  sizes: [1000, 20_000],
  idle: 20,
  hosts: 10,
  polls: 3,
  sends: 5000,
  deliveries: 20_000,
  streams: 20,
  streaming: 10,
};
const usual = values.quick ? QUICK : FULL;
const scale: Scale = {
  ...usual,
  streams: Number(values.streams ?? usual.streams),
  streaming: Number(values.seconds ?? usual.streaming),
};
const chosen = values.only?.split(',') ?? Object.keys(SUITES);

const figures: Figure[] = [];
for (const name of chosen) {
  const suite = SUITES[name];
  if (suite === undefined) throw new Error(`no suite ${name}: ${Object.keys(SUITES).join(', ')}`);
  process.stderr.write(`${name} …\n`);
  figures.push(...(await suite(scale)));
}
process.stdout.write(table(figures));
mkdirSync(values.out, { recursive: true });
writeFileSync(
  `${values.out}/${chosen.join('-')}.json`,
  `${JSON.stringify({ at: new Date().toISOString(), node: process.version, scale, figures }, undefined, 2)}\n`,
);

const grown = figures.filter(({ at }) => at !== undefined);
if (grown.length > 0) writeFileSync('docs/growth.svg', plot('What a tick costs', linesOf(grown)));

/** Each line with its lower limit. */
function linesOf(rows: readonly Figure[]): Series[] {
  const names = [...new Set(rows.map(({ at }) => at?.line ?? ''))];
  return names.flatMap((name) => {
    const own = rows.filter(({ at }) => at?.line === name);
    const points = (ms: (row: Figure) => number | undefined): Series['points'] =>
      own.map((row) => ({ messages: row.at?.messages ?? 0, ms: ms(row) ?? 0 }));
    return [
      { name, points: points(({ measured }) => measured?.median) },
      { name: `${name}: raw git`, points: points(({ floor }) => floor?.median) },
    ];
  });
}

function table(rows: readonly Figure[]): string {
  const ms = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(1));
  const lines = [
    ['', 'figure', 'median', 'p95', 'floor', 'ratio', 'crosstalk-runtime', 'goal', ''],
    ...rows.map((row) => [
      row.met ? 'ok' : 'MISS',
      row.figure,
      row.value ?? ms(row.measured?.median),
      ms(row.measured?.p95),
      row.floor === undefined ? '' : `${ms(row.floor.median)} (${row.floor.what})`,
      row.ratio === undefined ? '' : `${row.ratio.toFixed(2)}×`,
      rivalOf(row.figure),
      row.goal,
      row.note ?? '',
    ]),
  ];
  const widths = lines[0]?.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return `${lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths?.[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`;
}
