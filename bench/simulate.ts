// npm run bench:simulate [-- --seed 1 --hosts 1,16,256 --latency-ms 600 --minutes 20 --only a,b]:
// simulates many hosts on one branch, in simulated time, and prints one table. `--check` simulates
// what was measured with real hosts, `--plot docs/scale.svg` draws the delay.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { plot } from './plot.ts';
import { checksOf, rowsOf, tableOf, type Row } from './simulator/scenarios.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    hosts: { type: 'string', default: '1,2,4,8,16,32,64,128,256' },
    'latency-ms': { type: 'string', default: '600' },
    minutes: { type: 'string', default: '20' },
    only: { type: 'string' },
    check: { type: 'boolean', default: false },
    plot: { type: 'string' },
  },
});

const seed = Number(values.seed);
const rows = values.check
  ? await checksOf(seed)
  : await rowsOf({
      seed,
      hosts: values.hosts.split(',').map(Number),
      latency: Number(values['latency-ms']),
      minutes: Number(values.minutes),
      ...(values.only !== undefined && { only: values.only.split(',') }),
    });
process.stdout.write(tableOf(rows));
if (values.plot !== undefined) writeFileSync(values.plot, drawn(rows));

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
