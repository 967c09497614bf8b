import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { onCrashPoint } from '../../src/crash-points.ts';
import { Bus, Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

it('a branch that was renamed at the remote is not made anew: mail is queued, and goes on the new one once that is said', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'one');
  git(bus.hub, 'branch', '--move', 'main', 'trunk');
  const queued = await host.run('send', '--to', 'worker', 'two');
  expect(queued.out).toMatch(/^Queued: /);
  const synced = await host.run('sync');
  expect(synced.code).toBe(1);
  expect(synced.err).toContain('the remote has no branch main, but "trunk"');
  const dispatched = await host.run('dispatch', '--once', '--host', 'front');
  expect(dispatched.code).not.toBe(0);
  expect(git(bus.hub, 'for-each-ref', '--format=%(refname)', 'refs/heads/')).toBe(
    'refs/heads/trunk\n',
  );
  git(host.dir, 'config', 'crosstalk.branch', 'trunk');
  await host.accept();
  expect(await host.run('sync')).toMatchObject({ code: 0 });
  const said = bus.messages('trunk').map(({ message }) => message.body.trim());
  expect(said.sort()).toEqual(['done', 'one', 'two']);
});

it(
  'a remote that lost its only branch gets the whole of it back, not what an older checkout stands at',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    writeFileSync(join(host.dir, 'CLAUDE.md'), 'changed by the operator\n');
    for (const text of ['one', 'two', 'three']) await host.send('nobody', text);
    const commits = git(bus.hub, 'rev-list', '--count', 'main');
    git(bus.hub, 'update-ref', '-d', 'refs/heads/main');
    git(host.dir, 'fetch', '--quiet', '--prune', 'origin');
    await host.run('sync');
    expect(git(bus.hub, 'rev-list', '--count', 'main')).toBe(commits);
    expect(bus.messages()).toHaveLength(3);
  },
);

it(
  'what others push between building and pushing is kept, also when it was fetched here meanwhile',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const first = await host.send('nobody', 'one');
    const env = { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir };
    let between = 0;
    onTestFinished(() => {
      onCrashPoint(() => undefined);
    });
    onCrashPoint((point) => {
      if (point !== 'commits_built' || between++ > 0) return;
      host.edit({ 'local/note.md': 'by hand\n' });
      execFileSync(process.execPath, [PROGRAM, 'replies', first], { env, stdio: 'ignore' });
    });
    await host.send('nobody', 'two');
    expect(between).toBeGreaterThan(1);
    expect(bus.messages()).toHaveLength(2);
    expect(git(bus.hub, 'show', 'main:local/note.md')).toBe('by hand\n');
  },
);

it('a clone whose remote has another name is not taken for one without a remote', async () => {
  const bus = new Bus();
  await bus.host('front', { worker: 'echo done' });
  const other = new Host(bus, 'other');
  git(bus.root, 'clone', '--quiet', '--origin', 'hub', bus.hub, other.dir);
  const refused = await other.run('send', '--to', 'worker', 'hello');
  expect([refused.code, refused.out]).toEqual([1, '']);
  expect(refused.err).toContain(`git -C ${other.dir} remote rename hub origin`);
  git(other.dir, 'remote', 'rename', 'hub', 'origin');
  await other.send('worker', 'hello');
  expect(bus.messages()).toHaveLength(1);
});

it('what the user’s git says of pushes, and what an outer git leaves in the environment, holds no mail', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const hooks = join(bus.root, 'hooks');
  mkdirSync(hooks);
  writeFileSync(join(hooks, 'pre-push'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const config = join(bus.root, 'user.config');
  writeFileSync(
    config,
    `[push]\n\tgpgSign = true\n\tpushOption = ci.skip\n\tfollowTags = true\n[core]\n\thooksPath = ${hooks}\n`,
  );
  host.env['GIT_CONFIG_GLOBAL'] = config;
  for (const name of ['GIT_QUARANTINE_PATH', 'GIT_COMMON_DIR', 'GIT_GRAFT_FILE'])
    host.env[name] = bus.root;
  host.env['GIT_CONFIG_PARAMETERS'] = `'core.bare=true' 'remote.origin.url=/nowhere'`;
  host.env['GIT_LITERAL_PATHSPECS'] = '1';
  const sent = await host.run('send', '--to', 'worker', 'hello');
  expect(sent.out).toMatch(/^Sent: /);
  await host.once();
  expect(bus.from('worker')).toHaveLength(1);
});
