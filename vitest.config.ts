import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real agent CLIs: npm run test:agents.
    exclude: [...configDefaults.exclude, 'test/agents/**'],
    setupFiles: ['test/support/sandbox.ts'],
    pool: 'forks',
    // Tests wait for processes more than they compute: two side by side pay off on two cores too.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Where a change is judged the machine is shared: .ci/run lists what needed its second try.
    retry: process.env['CI'] === undefined ? 0 : 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { shuffle: true },
    coverage: { include: ['src/**'], exclude: ['src/demo/agents/**'] },
  },
});
