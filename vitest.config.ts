import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/sandbox.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { shuffle: true },
    coverage: { include: ['src/**'], exclude: ['src/demo/agents/**'] },
  },
});
