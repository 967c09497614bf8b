import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, vi } from 'vitest';
import { cleanUp } from './bus.ts';
import { givenCwd, givenEnv, givenTmp } from './given.ts';

// Each test file has its own HOME, no git identity and none of the caller's settings, nor what the
// file before it in the same process has set.
const { testPath = '' } = expect.getState();
// The room may be below /dev, and a sandbox has a /dev of its own.
const isInSandbox = /\bsandbox\b/.test(readFileSync(testPath, 'utf8'));
const room = isInSandbox ? undefined : givenEnv['TEST_ROOM'];
const home = realpathSync(mkdtempSync(room === undefined ? join(givenTmp, 'ct-') : `${room}/`));
for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
for (const [name, value] of Object.entries(givenEnv)) {
  if (!/^(CROSSTALK_|GIT_|XDG_)/.test(name)) process.env[name] = value;
}
mkdirSync(join(home, 'tmp'));
writeFileSync(join(home, 'gitconfig'), '');
Object.assign(process.env, {
  HOME: home,
  TMPDIR: join(home, 'tmp'),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: join(home, 'gitconfig'),
  NO_COLOR: '1',
});
process.chdir(givenCwd);

// CI decides by the same generated examples each time; elsewhere each run explores others.
const seed = process.env['PROPERTY_SEED'];
if (seed !== undefined) {
  const { configureGlobal } = await import('fast-check');
  configureGlobal({ seed: Number(seed) });
}

/** Milliseconds for cleaning up, because a long run of faults leaves many buses. */
const CLEANING_MS = 600_000;

afterEach(cleanUp);
afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  globalThis.gc?.();
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}, CLEANING_MS);
