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
    // For what never comes: a test that passes is decided by states, however slow the machine is.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    sequence: { shuffle: true },
    coverage: { include: ['src/**'], exclude: ['src/demo/agents/**'] },
  },
});
