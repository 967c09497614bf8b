import { defineConfig } from 'vitest/config';

/** Tests of real agent CLIs: run by `npm run test:agents`, never by `npm test`. */
export default defineConfig({
  test: {
    include: ['test/agents/*.test.ts'],
    globalSetup: ['test/agents/install.ts'],
    setupFiles: ['test/support/sandbox.ts', 'test/agents/clean.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A file may contain no test for the chosen CLIs.
    passWithNoTests: true,
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
