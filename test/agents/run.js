// npm run test:agents [-- claude codex …] [options of vitest]: real agent CLIs, a fake model.
import { spawnSync } from 'node:child_process';

const asked = process.argv.slice(2);
const options = asked.findIndex((word) => word.startsWith('-'));
const end = options === -1 ? asked.length : options;
const { status } = spawnSync(
  'npx',
  ['vitest', 'run', '--config', 'test/agents/vitest.config.ts', ...asked.slice(end)],
  {
    env: { ...process.env, CROSSTALK_TEST_AGENTS: asked.slice(0, end).join(',') },
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;
