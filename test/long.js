// npm run test:long [-- options of vitest]: what npm test leaves out, then real agent CLIs with a fake
// model; with --shard=1/4 a quarter of both.
import { spawnSync } from 'node:child_process';

/** Milliseconds for the agent CLIs, which are installed over the network. */
const AGENTS_MS = 900_000;

const options = process.argv.slice(2);
const shard = options.filter((option) => option.startsWith('--shard='));
const inherited = { stdio: 'inherit' };
const tests = spawnSync('npx', ['vitest', 'run', '--mode', 'long', ...options], inherited);
const agents = spawnSync(
  process.execPath,
  ['test/agents/run.js', 'claude', 'codex', 'pi', ...shard],
  { ...inherited, timeout: AGENTS_MS },
);
process.exitCode = tests.status === 0 && agents.status === 0 ? 0 : 1;
