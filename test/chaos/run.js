// npm run test:chaos -- --kills 1000 [--seed 42]: the soak, longer than in the ordinary tests.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '1000' }, seed: { type: 'string' } },
});
const env = {
  ...process.env,
  CHAOS_KILLS: values.kills,
  ...(values.seed && { CHAOS_SEED: values.seed }),
};
const { status } = spawnSync('npx', ['vitest', 'run', 'test/chaos/soak.test.ts'], {
  env,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
