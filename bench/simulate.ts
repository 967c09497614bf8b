// npm run bench:simulate [-- --seed 1 --hosts 1,16,256 --latency-ms 600 --minutes 20 --only a,b]:
// simulates many hosts on one branch, in simulated time, and prints one table. `--check` simulates
// what was measured with real hosts, `--plot docs/scale.svg` draws the delay. `--thousand` simulates
// a thousand hosts, and `--millions 10` of messages through one branch.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { plot } from './plot.ts';
import { checksOf, rowsOf, tableOf, type Row } from './simulator/scenarios.ts';
import { thousandTable, tryAll } from './simulator/thousand.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    hosts: { type: 'string', default: '1,2,4,8,16,32,64,128,256' },
    'latency-ms': { type: 'string', default: '600' },
    minutes: { type: 'string', default: '20' },
    only: { type: 'string' },
    check: { type: 'boolean', default: false },
    thousand: { type: 'boolean', default: false },
    millions: { type: 'string', default: '10' },
    plot: { type: 'string' },
  },
});

const seed = Number(values.seed);
const only = values.only?.split(',');
process.stdout.write(values.thousand ? await thousand() : await table());

async function thousand(): Promise<string> {
  const begun = performance.now();
  const rows = await tryAll(seed, Number(values.millions), only, ({ trial }) => {
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    process.stderr.write(`${trial.name}: done after ${seconds} s\n`);
  });
  return thousandTable(rows);
}

async function table(): Promise<string> {
  const rows = values.check
    ? await checksOf(seed)
    : await rowsOf({
        seed,
        hosts: values.hosts.split(',').map(Number),
        latency: Number(values['latency-ms']),
        minutes: Number(values.minutes),
        ...(only !== undefined && { only }),
      });
  if (values.plot !== undefined) writeFileSync(values.plot, drawn(rows));
  return tableOf(rows);
}

/** The 95th percentile of the delay when each host sends once a minute. */
function drawn(all: readonly Row[]): string {
  const chosen = all.filter(({ load }) => load === '1/min');
  const names = [...new Set(chosen.map(({ scenario }) => scenario))];
  return plot(
    'Delay of a message as hosts are added, each sending once a minute',
    names.map((name) => ({
      name: name.replace(/^\w /, ''),
      points: chosen
        .filter(({ scenario }) => scenario === name)
        .map(({ hosts, outcome }) => ({ messages: hosts, ms: outcome.p95 / 1000 })),
    })),
    { x: 'hosts on the branch', y: 'seconds, p95', log: true },
  );
}
