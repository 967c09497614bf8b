import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerLine } from '../../src/state/bills/ledger.ts';
import type { Figure, Scale } from '../figure.ts';
import { inTurn, ran, type Spread } from '../measure.ts';
import { World } from '../world.ts';

const RUNS = 100_000;
/** Milliseconds beyond one and a half times the start of node. */
const ROOM = 60;
const MONTH_MS = 30 * 86_400_000;

/** `crosstalk cost` over the runs of a month, compared to the start of node. */
export async function cost({ rounds }: Scale): Promise<Figure[]> {
  const world = await World.make();
  try {
    const host = await world.machine('worker');
    writeRuns(join(host.state, 'ledger'));
    const spreads = await inTurn(rounds, {
      'node -e 0': () => ran(process.execPath, ['-e', '0'], { cwd: world.root, env: world.env }),
      cost: () => host.run('cost'),
      // The lines of its first day are read one by one, as sums are kept day by day.
      'from an hour on': () => host.run('cost', '--since', '30d'),
      'by thread': () => host.run('cost', '--by', 'thread'),
    });
    const start = spreads['node -e 0'];
    const limit = (ms: number): number => 1.5 * ms + ROOM;
    const floor = {
      what: `1.5 × node -e 0 + ${String(ROOM)} ms`,
      ...start,
      median: limit(start.median),
      p95: limit(start.p95),
    };
    const ratio = spreads.cost.median / floor.median;
    const compared = (figure: string, measured: Spread): Figure => ({
      figure,
      ...{ floor, measured, ratio: measured.median / floor.median },
      ...{ goal: 'for comparison', met: true },
    });
    return [
      {
        figure: 'cost, 100,000 runs',
        ...{ floor, measured: spreads.cost, ratio, goal: '≤ 1×', met: ratio <= 1 },
      },
      compared('cost --since 30d, 100,000 runs', spreads['from an hour on']),
      compared('cost --by thread, 100,000 runs', spreads['by thread']),
    ];
  } finally {
    await world.end();
  }
}

/** Runs of the last days, in the files of their months. */
function writeRuns(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const months = new Map<string, string[]>();
  const first = Date.now() - MONTH_MS;
  for (let n = 0; n < RUNS; n++) {
    const at = new Date(first + Math.floor((n / RUNS) * MONTH_MS)).toISOString();
    // Of 5,000 threads with 20 runs each, 50 are under way at a time, for about seven hours.
    const thread = Math.floor(n / 1000) * 50 + (n % 50);
    const channel = `channel${String(thread % 3)}`;
    const run: LedgerLine = {
      at,
      id: `01JD${n.toString(36).toUpperCase().padStart(22, '0')}`,
      actor: `actor${String(n % 7)}`,
      host: 'worker',
      channel,
      tier: 'default',
      thread: { channel, relPath: `2026/11/01/120000000Z-${String(thread).padStart(8, '0')}.md` },
      ended: n % 50 === 0 ? 'failed' : 'answered',
      ms: 20_000 + (n % 1000),
      usage: { model: 'model-1', input: 900, cached: 12_000, output: 400, usd: 0.0123, turns: 4 },
    };
    const lines = months.get(at.slice(0, 7)) ?? [];
    lines.push(`\n${JSON.stringify(run)}\n`);
    months.set(at.slice(0, 7), lines);
  }
  for (const [month, lines] of months)
    writeFileSync(join(folder, `${month}.jsonl`), lines.join(''), { mode: 0o600 });
}
