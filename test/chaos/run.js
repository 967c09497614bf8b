// npm run test:chaos -- --kills 1000 [--seed 42]: the soak, longer than in the ordinary tests.
// npm run test:chaos -- --git: every git call and everything a dispatcher waits for fails in turn.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    git: { type: 'boolean' },
  },
});
const env = {
  ...process.env,
  CHAOS_KILLS: values.kills,
  ...(values.seed && { CHAOS_SEED: values.seed }),
  ...(values.git && { CHAOS_GIT_STRIDE: '1', CHAOS_AWAIT_STRIDE: '1' }),
};
const files = values.git
  ? ['test/chaos/git-', 'test/chaos/every-await']
  : ['test/chaos/soak.test.ts'];
const { status } = spawnSync('npx', ['vitest', 'run', ...files], {
  env,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
