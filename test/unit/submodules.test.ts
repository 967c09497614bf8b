import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { submodulesIn } from '../../src/dispatcher/sandbox/submodules.ts';

/** A repository whose index names files and two submodules. */
function repository(...settings: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'index-'));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', folder, ...settings, ...args], { encoding: 'utf8' }).trim();
  const sha256 = settings.includes('format') ? ['--object-format=sha256'] : [];
  execFileSync('git', ['init', '--quiet', ...sha256, folder]);
  const object = 'ab'.repeat(sha256.length === 0 ? 20 : 32);
  for (let n = 0; n < 40; n++) writeFileSync(join(folder, `file-${'x'.repeat(n)}`), String(n));
  git('add', '.');
  for (const path of ['libs/one', 'vendor'])
    git('update-index', '--add', '--cacheinfo', `160000,${object},${path}`);
  return folder;
}

it.each([
  ['2', []],
  ['4', ['-c', 'index.version=4']],
])('the submodules of an index of version %s are found', async (version, settings) => {
  const folder = repository(...settings);
  execFileSync('git', ['-C', folder, 'update-index', '--index-version', version]);
  expect(await submodulesIn(join(folder, '.git'))).toEqual(['libs/one', 'vendor']);
});

it('the submodules of an index of version 3, and of a split one, are found', async () => {
  const folder = repository();
  const git = (...args: string[]): void => {
    execFileSync('git', ['-C', folder, ...args]);
  };
  git('update-index', '--skip-worktree', 'file-xx');
  expect(await submodulesIn(join(folder, '.git'))).toEqual(['libs/one', 'vendor']);
  git('update-index', '--split-index');
  expect(await submodulesIn(join(folder, '.git'))).toEqual(['libs/one', 'vendor']);
});

it('an index that cannot be read is refused where it may name a submodule', async () => {
  const folder = repository();
  const index = join(folder, '.git/index');
  writeFileSync(
    index,
    Buffer.concat([Buffer.from('DIRC\0\0\0\x09\0\0\0\x01'), Buffer.from([0, 0, 0xe0, 0])]),
  );
  await expect(submodulesIn(join(folder, '.git'))).rejects.toThrow(/index .* cannot be read/);
});
