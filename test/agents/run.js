// npm run test:agents [-- claude codex@0.169.0 …] [files or options of vitest]: runs real agent CLIs with a
// fake model.
import { spawnSync } from 'node:child_process';

const words = process.argv.slice(2);
const isName = (word) => /^[a-z]+(@[\d.]+)?$/.test(word);
const rest = words.filter((word) => !isName(word));
const { status } = spawnSync(
  'npx',
  ['vitest', 'run', '--config', 'test/agents/vitest.config.ts', ...rest],
  {
    env: { ...process.env, CROSSTALK_TEST_AGENTS: words.filter(isName).join(',') },
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;
