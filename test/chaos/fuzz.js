// npm run test:fuzz -- --files 100000: fuzzes files for longer than the ordinary tests do.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { files: { type: 'string', default: '100000' } } });
const env = { ...process.env, FUZZ_FILES: values.files };
const { status } = spawnSync('npx', ['vitest', 'run', 'test/unit/fuzz.test.ts'], {
  env,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
