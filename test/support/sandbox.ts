import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

// Each test file has its own HOME, no git identity and none of the caller's settings.
const home = realpathSync(mkdtempSync(join(tmpdir(), 'crosstalk-test-')));
for (const name of Object.keys(process.env)) {
  if (/^(CROSSTALK_|GIT_|XDG_)/.test(name)) Reflect.deleteProperty(process.env, name);
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

// CI decides by the same generated examples each time; elsewhere each run explores others.
const seed = process.env['PROPERTY_SEED'];
if (seed !== undefined) {
  const { configureGlobal } = await import('fast-check');
  configureGlobal({ seed: Number(seed) });
}

/** Milliseconds for cleaning up, because a long run of faults leaves many buses. */
const CLEANING_MS = 600_000;

afterAll(() => {
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}, CLEANING_MS);
