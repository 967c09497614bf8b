import { chmodSync, lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { push } from '../support/push.ts';

const isExecutable = (host: Host, path: string): boolean =>
  (lstatSync(join(host.dir, path)).mode & 0o111) !== 0;
const isLink = (host: Host, path: string): boolean =>
  lstatSync(join(host.dir, path)).isSymbolicLink();

it('links and executable files that a plain git clone has written become plain, and git finds no change', async () => {
  const { bus } = await new Bus().host('front', { worker: 'true' });
  const host = new Host(bus, 'plain');
  push(host, [
    ['100755', '#!/bin/sh\n', 'local/run.sh'],
    ['100755', '#!/bin/sh\n', 'CLAUDE.md'],
    ['120000', '/etc/passwd', 'local/link'],
  ]);
  git(bus.root, 'clone', '--quiet', bus.hub, host.dir);
  writeFileSync(join(host.dir, 'local', 'mine.sh'), '#!/bin/sh\n');
  chmodSync(join(host.dir, 'local', 'mine.sh'), 0o755);
  symlinkSync('/etc/passwd', join(host.dir, 'local', 'mine'));
  expect([isExecutable(host, 'local/run.sh'), isLink(host, 'local/link')]).toEqual([true, true]);
  const synced = await host.run('sync');
  expect(synced.code).toBe(0);
  expect(['local/run.sh', 'CLAUDE.md'].map((path) => isExecutable(host, path))).toEqual([
    false,
    false,
  ]);
  expect(isLink(host, 'local/link')).toBe(false);
  expect(readFileSync(join(host.dir, 'local', 'link'), 'utf8')).toBe('/etc/passwd');
  expect(git(host.dir, 'status', '--porcelain')).toBe('?? local/mine\n?? local/mine.sh\n');
  // The operator's own files are unchanged.
  expect([isExecutable(host, 'local/mine.sh'), isLink(host, 'local/mine')]).toEqual([true, true]);
  // The operator's own git pull writes them again: they become plain with the next news.
  push(host, [['100755', '#!/bin/sh\n# again\n', 'local/run.sh']]);
  git(host.dir, 'pull', '--quiet');
  expect(isExecutable(host, 'local/run.sh')).toBe(true);
  await host.run('sync');
  expect(isExecutable(host, 'local/run.sh')).toBe(false);
  expect(git(host.dir, 'status', '--porcelain', '--untracked-files=no')).toBe('');
});

it('what a wider window shows for the first time is plain too', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const folder = `data/channels/${host.channel()}/2020/01/02`;
  push(host, [
    ['100755', '#!/bin/sh\n', `${folder}/run.sh`],
    ['120000', '/etc/passwd', `${folder}/link`],
  ]);
  await host.run('sync', '--window', '1d');
  await host.run('sync', '--window', 'all');
  expect(isExecutable(host, `${folder}/run.sh`)).toBe(false);
  expect(isLink(host, `${folder}/link`)).toBe(false);
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
});

it(
  'a link that an operator has pointed elsewhere is not taken for the one that arrived',
  { tags: 'long' },
  async () => {
    const { bus } = await new Bus().host('front', { worker: 'true' });
    const host = new Host(bus, 'plain');
    push(host, [['120000', '/etc/passwd', 'local/link']]);
    git(bus.root, 'clone', '--quiet', bus.hub, host.dir);
    const link = join(host.dir, 'local', 'link');
    git(host.dir, 'update-index', '--assume-unchanged', 'local/link');
    rmSync(link);
    symlinkSync(join(bus.root, 'elsewhere'), link);
    await host.run('sync');
    expect(isLink(host, 'local/link')).toBe(true);
  },
);

it('what was made plain goes on with the next news of it', { tags: 'long' }, async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  for (const content of ['one\n', 'two\n', 'three\n']) {
    push(host, [
      ['100755', content, 'local/run.sh'],
      ['120000', content.trim(), 'local/link'],
    ]);
    expect((await host.run('sync')).out).toContain('Checkout: forwarded');
    expect(readFileSync(join(host.dir, 'local', 'run.sh'), 'utf8')).toBe(content);
    expect(isExecutable(host, 'local/run.sh')).toBe(false);
  }
  // No longer executable, with the same content.
  push(host, [['100644', 'three\n', 'local/run.sh']]);
  expect((await host.run('sync')).out).toContain('Checkout: forwarded');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
});
