// npm run test:chaos -- --kills 1000 [--seed 42]: the soak, longer than in the ordinary tests.
// npm run test:chaos -- --model 100 [--seed 42]: random runs of the model of delivery.
// With --history 200 (and --hosts 4) on several machines, with faults of history between the kills.
// npm run test:chaos -- --pools 20 [--hosts 16] [--seed 42]: so many faults of machines that share a pool.
// npm run test:chaos -- --git: every git call and everything a dispatcher waits for fails in turn.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    model: { type: 'string' },
    history: { type: 'string' },
    pools: { type: 'string' },
    hosts: { type: 'string', default: '4' },
    seed: { type: 'string' },
    git: { type: 'boolean' },
  },
});
const { kills, history, hosts, model, pools, seed, git: calls } = values;
const isWide = history !== undefined;
const env = {
  ...process.env,
  ...(isWide
    ? { CHAOS_WIDE_KILLS: kills, CHAOS_HISTORY: history, CHAOS_HOSTS: hosts }
    : { CHAOS_KILLS: kills }),
  ...(model && { CHAOS_MODEL_RUNS: model }),
  ...(pools && { CHAOS_POOL_FAULTS: pools, CHAOS_POOL_HOSTS: hosts }),
  ...(seed && { CHAOS_SEED: seed }),
  ...(calls && { CHAOS_GIT_STRIDE: '1', CHAOS_AWAIT_STRIDE: '1' }),
};
const name = model ? 'model/model' : pools ? 'pools' : isWide ? 'wide' : 'soak';
const files = calls
  ? ['test/chaos/git-', 'test/chaos/every-await']
  : [`test/chaos/${name}.test.ts`];
const { status } = spawnSync('npx', ['vitest', 'run', ...files], { env, stdio: 'inherit' });
process.exitCode = status ?? 1;
