import { spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
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
