import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/*
 * Two forms of the tests. `npm test` (--mode short) proves each promise once, in minutes. `npm run
 * test:long` (--mode long) runs what is tagged `long`, and all examples of what is tagged `sampled`.
 * Without a mode everything runs, as for a file that is named on the command line.
 */
const FORMS: Record<string, { wanted: string; skips: RegExp } | undefined> = {
  short: { wanted: '!long', skips: /@module-tag long$/m },
  long: { wanted: 'long || sampled', skips: /^(?![^]*(?:@module-tag|tags: '(?:long|sampled)'))/ },
};

export default defineConfig(({ mode }) => {
  const form = FORMS[mode];
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
    // Real agent CLIs: npm run test:agents.
    .filter((name) => name.endsWith('.test.ts') && !name.startsWith('agents/'))
    .map((name) => join('test', name))
    // To load a file of which nothing is run takes a second.
    .filter((name) => form?.skips.test(readFileSync(name, 'utf8')) !== true);
  return {
    test: {
      include: files,
      env: { TEST_FORM: mode },
      tags: [
        {
          name: 'long',
          timeout: 600_000,
          description: 'not in npm test, but in npm run test:long',
        },
        {
          name: 'sampled',
          timeout: 240_000,
          description: 'in npm test with a part of its examples',
        },
        { name: 'slow', timeout: 480_000, description: 'takes longer than other tests may' },
      ],
      ...(form && { tagsFilter: [form.wanted] }),
      globalSetup: ['test/support/room.ts'],
      setupFiles: ['test/support/sandbox.ts'],
      pool: 'forks',
      // Loading the program for each file would be a quarter of the time. It keeps no state in its modules
      // but under paths, and test/support/sandbox.ts gives each file its own.
      isolate: false,
      // test/support/sandbox.ts has them free their memory: what a process starts costs time in
      // proportion to it.
      execArgv: ['--expose-gc'],
      // Tests wait for processes more than they compute.
      maxWorkers: availableParallelism() * 2,
      // A test that hangs is to be seen. One that passes is decided by states, however slow the machine:
      // beside four busy loops and another run of the tests, on two cores, one of 9 s takes over a minute; on
      // a machine of CI one of 12 s took over three.
      testTimeout: 240_000,
      hookTimeout: 480_000,
      sequence: { shuffle: true },
      coverage: { include: ['src/**'], exclude: ['src/demo/agents/**'] },
    },
  };
});
