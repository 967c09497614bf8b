import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { copyOfPackage } from '../support/service.ts';
import { scratch } from '../support/bus.ts';

function installed(): {
  run: (...argv: string[]) => string;
  caches: (part?: string) => string[];
} {
  const { bin, main } = copyOfPackage();
  const home = scratch();
  const dist = dirname(main);
  return {
    run: (...argv) => {
      const env = { PATH: process.env['PATH'] ?? '', HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
      const ran = spawnSync(process.execPath, [bin, ...argv], { cwd: home, env, encoding: 'utf8' });
      return ran.stdout + ran.stderr;
    },
    caches: (part = 'main.cjs') =>
      readdirSync(dist)
        .filter((name) => name.startsWith(`${part}.`))
        .map((name) => join(dist, name)),
  };
}

/** The commands whose code a cache holds. */
function namedIn([file = '']: string[]): string[] {
  return readFileSync(file).toString('latin1', 0, 512).trim().split(' ');
}

it('the first run of each command adds the code that it needs to the cache', () => {
  const { run, caches } = installed();
  expect(caches()).toEqual([]);
  run('agents');
  expect(namedIn(caches())).toEqual(['agents']);
  run('send', '--help');
  run('no-such-command');
  run('status');
  expect(namedIn(caches())).toEqual(['agents']);
  run('completion', 'bash');
  expect(namedIn(caches())).toEqual(['agents', 'completion']);
  expect(caches()).toHaveLength(1);
});

it('a command that sends reads only the part of the program that it needs', () => {
  const { run, caches } = installed();
  run('send', '--to', 'worker', 'hello');
  run('ask', 'worker', 'hello');
  run('reply', '1f2e3d4c', 'hello');
  run('cancel', '1f2e3d4c');
  expect(caches('rest.cjs')).toEqual([]);
  run('agents');
  expect(namedIn(caches('rest.cjs'))).toEqual(['agents']);
});

it.each([
  [
    'is cut off',
    (file: string) => {
      truncateSync(file, 700);
    },
  ],
  [
    'is empty',
    (file: string) => {
      truncateSync(file, 0);
    },
  ],
  [
    'holds something else',
    (file: string) => {
      writeFileSync(file, 'x'.repeat(100_000));
    },
  ],
])('a command does its work where the cache %s, and makes another one', (_, harm) => {
  const { run, caches } = installed();
  const said = run('agents');
  const [file = ''] = caches();
  harm(file);
  expect(run('agents')).toBe(said);
  expect(namedIn(caches())).toEqual(['agents']);
  expect(readFileSync(file).length).toBeGreaterThan(200_000);
});
