import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { tipOf } from '../support/history.ts';
import { push } from '../support/push.ts';
import { until } from '../support/wait.ts';

const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();

/**
 * A `crosstalk sync` whose git waits before it moves the checkout, until the test lets it continue.
 */
async function waitingSync(host: Host): Promise<{ go: () => Promise<unknown> }> {
  const bin = join(host.bus.root, 'waiting-bin');
  const [there, go] = [join(bin, 'there'), join(bin, 'go')];
  mkdirSync(bin);
  const script = `#!/bin/sh
case " $* " in *" read-tree -m -u "*)
touch '${there}'
for i in $(seq 300); do [ -e '${go}' ] && break; sleep 0.1; done ;;
esac
exec '${realGit}' "$@"
`;
  writeFileSync(join(bin, 'git'), script);
  chmodSync(join(bin, 'git'), 0o755);
  const env = { ...host.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  const program = new Program({ dir: host.dir, env }, 'sync');
  await until('a git that waits', () => existsSync(there) || undefined);
  return {
    go: () => {
      writeFileSync(go, '');
      return program.ended();
    },
  };
}

it('two processes that know different news of the bus move the checkout one after the other', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  await host.run('sync');
  push(host, [['100644', 'one\n', 'local/one.md']]);
  const older = await waitingSync(host);
  push(host, [['100644', 'two\n', 'local/two.md']]);
  expect((await host.run('sync')).out).toMatch(/left as it is, process \d+ is bringing it along/);
  // A dispatcher updates the checkout to what it knows as soon as it may.
  const running = host.start();
  const tip = tipOf(host.bus);
  await running.saw('tick', (event) => event['tip'] === tip);
  expect(await older.go()).toBe(0);
  await until('the second file', () => existsSync(join(host.dir, 'local/two.md')) || undefined);
  await running.stop();
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  expect(git(host.dir, 'rev-parse', 'HEAD')).toBe(git(host.bus.hub, 'rev-parse', 'main'));
  expect(readFileSync(join(host.dir, 'local/one.md'), 'utf8')).toBe('one\n');
});

it('what a full disk did not let git write is brought once there is room, and until then nothing is touched', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  push(host, [['100644', 'before\n', 'local/a.md']]);
  await host.run('sync');
  push(host, [
    ['100644', 'after\n', 'local/a.md'],
    ['100644', 'new\n', 'local/b.md'],
  ]);
  const bin = join(host.bus.root, 'full-bin');
  mkdirSync(bin);
  const script = `#!/bin/sh
case " $* " in
*" read-tree -m -u "*) cd "$GIT_WORK_TREE" && mkdir -p local && : > local/a.md && printf n > local/b.md; exit 128 ;;
esac
exec '${realGit}' "$@"
`;
  writeFileSync(join(bin, 'git'), script);
  chmodSync(join(bin, 'git'), 0o755);
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  for (let tries = 0; tries < 2; tries++) {
    expect((await host.runWith({ env }, 'sync')).out).toContain('left as it is');
    expect(readFileSync(join(host.dir, 'local/a.md'), 'utf8')).toBe('before\n');
    expect(git(host.dir, 'status', '--porcelain')).toBe('');
  }
  expect((await host.run('sync')).out).toContain('Checkout: forwarded');
  expect(git(host.dir, 'status', '--porcelain')).toBe('');
  expect(readFileSync(join(host.dir, 'local/a.md'), 'utf8')).toBe('after\n');
});

it(
  'nothing is written or removed behind a symlink that is put into its way while git works',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    push(host, [['100644', 'old\n', 'local/notes/old.md']]);
    await host.run('sync');
    const [bin, elsewhere] = ['linking-bin', 'elsewhere'].map((name) =>
      join(host.bus.root, name),
    ) as [string, string];
    for (const folder of [bin, elsewhere]) mkdirSync(folder);
    writeFileSync(join(elsewhere, 'old.md'), 'mine\n');
    push(host, [
      ['0', '', 'local/notes/old.md'],
      ['100644', 'new\n', 'local/notes/new.md'],
    ]);
    const notes = join(host.dir, 'local/notes');
    const script = `#!/bin/sh
case " $* " in
*" read-tree -m -u "*) rm -r '${notes}'; ln -s '${elsewhere}' '${notes}' ;;
esac
exec '${realGit}' "$@"
`;
    writeFileSync(join(bin, 'git'), script);
    chmodSync(join(bin, 'git'), 0o755);
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    expect((await host.runWith({ env }, 'sync')).out).toContain('left as it is');
    expect((await host.run('sync')).out).toContain('is in the way: local/notes');
    expect(readdirSync(elsewhere)).toEqual(['old.md']);
  },
);
