import { defineConfig } from 'vitest/config';

/** Real agent CLIs: `npm run test:agents`, never part of `npm test`. */
export default defineConfig({
  test: {
    include: ['test/agents/*.test.ts'],
    globalSetup: ['test/agents/install.ts'],
    setupFiles: ['test/support/sandbox.ts', 'test/agents/clean.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A file may have nothing for the CLIs that were chosen.
    passWithNoTests: true,
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
