import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { blob, plant, tree } from '../support/bomb.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';

it('a path that git refuses is left out of the checkout, which follows with all others, and doctor says how it goes', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const follow = async (): Promise<string> =>
    /Checkout: (.*)\n/.exec((await host.run('sync')).out)?.[1] ?? '';
  await host.send('worker', 'one');
  await follow();
  const channel = `data/channels/${host.channel()}`;
  const file = { mode: '100644', oid: blob(bus.hub, 'x') } as const;
  // The same folder twice, as nobody walks it at each place.
  const inside = tree(bus.hub, [{ ...file, name: '.GIT ' }]);
  const folder = { mode: '040000', oid: inside } as const;
  plant(bus.hub, {
    [`${channel}/git~1`]: file,
    'local/.git': folder,
    'elsewhere/one/two': folder,
    'elsewhere/two/one': folder,
  });
  expect(await follow()).toBe('forwarded');
  expect(await follow()).toBe('current');
  const sent = await host.send('worker', 'two');
  expect(await follow()).toMatch(/forwarded|current/);
  expect(existsSync(join(host.dir, channel, sent))).toBe(true);
  for (const path of [`${channel}/git~1`, 'local/.git'])
    expect(existsSync(join(host.dir, path))).toBe(false);
  const status = git(host.dir, 'status', '--porcelain').trim().split('\n');
  expect(status.every((line) => /^D ..*(?:git~1|\.git)/i.test(line))).toBe(true);
  const { out } = await host.run('doctor');
  expect(out).toMatch(/git refuses these paths of the bus.*git~1" \([0-9a-f]+ by .* <.*>\)/);
  const fix = /remove them for all with: (git .*)$/m.exec(out)?.[1] ?? '';
  const operator = { GIT_AUTHOR_NAME: 'anna', GIT_AUTHOR_EMAIL: 'anna@example.com' };
  const identity = {
    ...operator,
    GIT_COMMITTER_NAME: 'anna',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  execFileSync('sh', ['-c', fix], { stdio: 'pipe', env: { ...process.env, ...identity } });
  expect(git(bus.hub, 'ls-tree', '-r', '--name-only', 'main')).not.toMatch(
    /git~1|\.git(?:[/ ]|$)/im,
  );
  await host.send('worker', 'three');
  expect(await follow()).toMatch(/forwarded|current/);
  expect((await host.run('doctor')).out).not.toContain('git refuses');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
});
