import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cpSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../support/bus.ts';

const root = join(import.meta.dirname, '../..');

it.each(['12.22.12', '18.20.8'])('Node %s is refused at once, with what is needed', (version) => {
  const preload = join(scratch(), 'old.cjs');
  const pretended = JSON.stringify({ ...process.versions, node: version });
  writeFileSync(preload, `Object.defineProperty(process, 'versions', { value: ${pretended} });`);
  const argv = ['--require', preload, join(root, 'bin/crosstalk.js'), 'status'];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    `crosstalk: this is Node ${version} (${process.execPath}), which is too old; it needs Node 20 or newer, from https://nodejs.org\n`,
  );
});

it('a folder without its packages is not built, and the line says what to do first', () => {
  const folder = scratch();
  for (const name of ['build.js', 'package.json']) cpSync(join(root, name), join(folder, name));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['build.js'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    'crosstalk: its packages are not installed in this folder; first run there: npm ci\n',
  );
});

it('from the folder of npx nothing is installed that would start it later, and init says how it stays', () => {
  const home = scratch();
  const copy = join(home, '.npm/_npx/1f2e/node_modules/@cordfuse/crosstalk');
  for (const name of ['bin', 'dist', 'package.json', 'template'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const env = { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
  const run = (...argv: string[]): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, [join(copy, 'bin/crosstalk.js'), ...argv], {
      cwd: home,
      env,
      encoding: 'utf8',
    });
  const made = run('init', 'team', '--alias', 'here', '--cli', 'true', '--from', 'me');
  expect(made.stdout).toContain('\nFirst: npm install --global @cordfuse/crosstalk, as this copy ');
  for (const words of [
    ['service', 'install', '--yes'],
    ['mcp', '--install', 'claude', '--user', '--yes'],
  ]) {
    const { status, stderr } = run(...words, '--transport', 'team');
    expect([status, words]).toEqual([1, words]);
    expect(stderr).toContain('is a copy that does not stay, so nothing is installed that would');
    expect(stderr).toContain('first: npm install --global @cordfuse/crosstalk\n');
  }
  expect([existsSync(join(home, '.config')), existsSync(join(home, '.claude.json'))]).toEqual([
    false,
    false,
  ]);
});
