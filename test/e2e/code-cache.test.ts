// @module-tag long
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { copyOfPackage } from '../support/service.ts';
import { Bus, scratch } from '../support/bus.ts';
import { until } from '../support/wait.ts';

function installed(): {
  run: (...argv: string[]) => string;
  /** Runs it beside this process, with more variables. */
  runBeside: (argv: string[], env: Record<string, string>) => Promise<string>;
  caches: (part?: string) => string[];
} {
  const { bin, main } = copyOfPackage();
  const home = scratch();
  const dist = dirname(main);
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
  return {
    runBeside: async (argv, more) => {
      const options = { cwd: home, env: { ...env, ...more } };
      return (await promisify(execFile)(process.execPath, [bin, ...argv], options)).stdout;
    },
    run: (...argv) => {
      const ran = spawnSync(process.execPath, [bin, ...argv], { cwd: home, env, encoding: 'utf8' });
      return ran.stdout + ran.stderr;
    },
    caches: (part = 'main.cjs') =>
      readdirSync(dist)
        .filter((name) => name.startsWith(`${part}.`) && name.endsWith('.cache'))
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

it('a message that a dispatcher takes over is sent with the first part of the program alone', async () => {
  const { runBeside: run, caches } = installed();
  const host = await new Bus().host('here', { worker: 'echo done' });
  const running = host.start();
  await until('a dispatcher', () => running.count('dispatcher_started') > 0);
  const env = { ...host.env, CROSSTALK_TRANSPORT: host.dir };
  expect(await run(['send', '--to', 'worker', 'hello'], env)).toMatch(/^Sent: /m);
  expect(caches()).toHaveLength(1);
  expect([...caches('core.cjs'), ...caches('rest.cjs')]).toEqual([]);
  await running.stop();
  await run(['send', '--to', 'worker', 'and now?'], env);
  expect(namedIn(caches('core.cjs'))).toEqual(['send']);
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
