// npm run test:chaos -- --kills 1000 [--seed 42]: the soak, longer than in the ordinary tests.
// npm run test:chaos -- --model 100 [--seed 42]: random runs of the model of delivery.
// With --history 200 (and --hosts 4) on several machines, with faults of history between the kills.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    model: { type: 'string' },
    history: { type: 'string' },
    hosts: { type: 'string', default: '4' },
    seed: { type: 'string' },
  },
});
const { kills, history, hosts, model, seed } = values;
const isWide = history !== undefined;
const env = {
  ...process.env,
  ...(isWide
    ? { CHAOS_WIDE_KILLS: kills, CHAOS_HISTORY: history, CHAOS_HOSTS: hosts }
    : { CHAOS_KILLS: kills }),
  ...(model && { CHAOS_MODEL_RUNS: model }),
  ...(seed && { CHAOS_SEED: seed }),
};
const name = model ? 'model/model' : isWide ? 'wide' : 'soak';
const args = ['vitest', 'run', `test/chaos/${name}.test.ts`];
const { status } = spawnSync('npx', args, { env, stdio: 'inherit' });
process.exitCode = status ?? 1;
