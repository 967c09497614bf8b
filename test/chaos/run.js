// npm run test:chaos -- --kills 1000 [--seed 42]: the soak, longer than in the ordinary tests.
// With --history 200 (and --hosts 4) on several machines, with faults of history between the kills.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    history: { type: 'string' },
    hosts: { type: 'string', default: '4' },
    seed: { type: 'string' },
  },
});
const { kills, history, hosts, seed } = values;
const isWide = history !== undefined;
const env = {
  ...process.env,
  ...(isWide
    ? { CHAOS_WIDE_KILLS: kills, CHAOS_HISTORY: history, CHAOS_HOSTS: hosts }
    : { CHAOS_KILLS: kills }),
  ...(seed && { CHAOS_SEED: seed }),
};
const file = `test/chaos/${isWide ? 'wide' : 'soak'}.test.ts`;
const { status } = spawnSync('npx', ['vitest', 'run', file], { env, stdio: 'inherit' });
process.exitCode = status ?? 1;
