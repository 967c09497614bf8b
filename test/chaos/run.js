// npm run test:chaos -- --kills 1000 [--seed 42]: the soak, longer than in the ordinary tests.
// npm run test:chaos -- --model 100 [--seed 42]: random runs of the model of delivery.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    model: { type: 'string' },
    seed: { type: 'string' },
  },
});
const env = {
  ...process.env,
  CHAOS_KILLS: values.kills,
  ...(values.seed && { CHAOS_SEED: values.seed }),
  ...(values.model && { CHAOS_MODEL_RUNS: values.model }),
};
const file = values.model ? 'model/model' : 'soak';
const { status } = spawnSync('npx', ['vitest', 'run', `test/chaos/${file}.test.ts`], {
  env,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
