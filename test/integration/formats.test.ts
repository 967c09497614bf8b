import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openTransport } from '../../src/actions/context.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { git } from '../support/git.ts';
import { DAY_MS, runAt } from '../support/passes.ts';

/** Whether this git can create such a repository. */
function supports(...options: string[]): boolean {
  try {
    git(scratch(), 'init', '--quiet', ...options);
    return true;
  } catch {
    return false;
  }
}

/** A bus whose hub stores objects in a certain format. */
class FormattedBus extends Bus {
  constructor(format: string) {
    super();
    git(
      this.root,
      'init',
      '--quiet',
      '--bare',
      '--initial-branch=main',
      `--object-format=${format}`,
      'formatted.git',
    );
  }
  override readonly hub = join(this.root, 'formatted.git');
}

async function goesBothWays(host: Host): Promise<void> {
  await host.send('worker', 'hello');
  const events = await host.once();
  expect(events.map(({ event }) => event)).toContain('dispatch_done');
  expect(host.bus.from('worker')).toHaveLength(1);
}

// Git supports it since 2.29, if it was built with it.
it.skipIf(!supports('--object-format=sha256'))(
  'init follows the object format of an empty remote, and so does whoever joins',
  { tags: 'long' },
  async () => {
    const bus = new FormattedBus('sha256');
    const first = await bus.host('first', { worker: 'echo done' });
    await goesBothWays(first);
    expect(git(bus.hub, 'rev-parse', 'main').trim()).toHaveLength(64);
    const second = await bus.host('second', { helper: 'echo helped' });
    await second.send('helper', 'hello');
    await second.once();
    expect(bus.from('helper')).toHaveLength(1);
    expect((await first.run('sync')).code).toBe(0);
  },
);

it.skipIf(!supports('--object-format=sha256'))(
  'a transport of SHA-256 objects is archived, and opened again',
  async () => {
    const bus = new FormattedBus('sha256');
    const host = await bus.host('first', { worker: 'echo done' });
    await goesBothWays(host);
    const [file, before] = [join(bus.root, 'old.bundle'), git(bus.hub, 'rev-parse', 'main')];
    const day = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
    const archived = await runAt(
      host,
      3 * DAY_MS,
      'archive',
      '--before',
      day,
      '--bundle',
      file,
      '--yes',
    );
    expect(archived.code, archived.err).toBe(0);
    expect(git(bus.hub, 'rev-parse', 'main')).not.toBe(before);
    expect(bus.messages()).toEqual([]);
    const restored = await host.run('archive', '--restore', file);
    expect(restored.code, restored.err).toBe(0);
    expect(bus.messages()).toHaveLength(2);
  },
);

it.skipIf(!supports('--object-format=sha256'))(
  'many files at once, a large folder among them, go to a remote of SHA-256 objects',
  { tags: 'long' },
  async () => {
    const bus = new FormattedBus('sha256');
    const host = await bus.host('first', { worker: 'echo done' });
    const { dir, env } = host;
    const names = Array.from({ length: 800 }, (_, n) => `x/crowd/${String(n).padStart(20, '0')}`);
    for (const paths of [names, names.map((path) => `${path}.md`).slice(0, 150)]) {
      const files = paths.map((path) => ({ path, content: path }));
      const author = { name: 'a', email: 'a@b' };
      const commit = { author, at: new Date(0).toISOString(), subject: 'many', files };
      const { transport } = await openTransport(dir, { ...process.env, ...env });
      expect(await transport.publish([[commit]])).toMatchObject({ ok: true });
      transport.close();
    }
    const listed = git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'x/').trim().split('\n');
    expect(listed).toHaveLength(950);
    git(bus.hub, 'fsck', '--strict', '--no-dangling');
  },
);

it.skipIf(!supports('--object-format=sha256'))(
  'init follows the object format of an empty remote whatever the user’s own default is',
  { tags: 'long' },
  async () => {
    const bus = new FormattedBus('sha1');
    const root = scratch();
    const config = join(root, 'gitconfig');
    writeFileSync(
      config,
      '[init]\n\tdefaultObjectFormat = sha256\n\tdefaultRefFormat = reftable\n',
    );
    const env = {
      CROSSTALK_STATE_DIR: join(root, 'state'),
      GIT_CONFIG_GLOBAL: config,
      GIT_DEFAULT_HASH: 'sha256',
    };
    const argv = ['init', 'team', '--remote', bus.hub, '--alias', 'here', '--cli', 'echo done'];
    const made = await command(argv, { cwd: root, env });
    expect([made.code, made.err]).toEqual([0, '']);
    expect(git(bus.hub, 'rev-parse', 'main').trim()).toHaveLength(40);
  },
);

const REFUSED = /^crosstalk status: the clone \S+ keeps its branches as .*refs migrate.*\n$/;

it('a clone whose branches are said to be no files is refused with one line, and nothing is made', async () => {
  // A git older than 2.45 refuses such a clone itself; its error message is understood too.
  const bus = new Bus();
  await bus.host('here', { worker: 'echo done' });
  const root = scratch();
  const dir = join(root, 'team');
  git(root, 'clone', '--quiet', bus.hub, dir);
  git(dir, 'config', 'core.repositoryFormatVersion', '1');
  git(dir, 'config', 'extensions.refStorage', 'reftable');
  const state = join(root, 'state');
  const { code, err } = await command(['status'], {
    cwd: dir,
    env: { CROSSTALK_STATE_DIR: state },
  });
  expect([code, err]).toEqual([1, expect.stringMatching(REFUSED)]);
  expect(existsSync(join(state, 'git-settings.json'))).toBe(false);
});

// Git supports it since 2.45.
it.skipIf(!supports('--ref-format=reftable'))(
  'a clone with a reftable is refused with one line',
  async () => {
    const bus = new Bus();
    await bus.host('here', { worker: 'echo done' });
    const root = scratch();
    const dir = join(root, 'team');
    git(root, 'clone', '--quiet', '--ref-format=reftable', bus.hub, dir);
    const { code, err } = await command(['status'], {
      cwd: dir,
      env: { CROSSTALK_STATE_DIR: join(root, 'state') },
    });
    expect([code, err]).toEqual([1, expect.stringMatching(REFUSED)]);
    expect(readdirSync(join(root, 'state'))).not.toContain('git-settings.json');
  },
);

it('a clone in a format that git here does not know is not taken for one without a remote', async () => {
  const bus = new Bus();
  await bus.host('here', { worker: 'echo done' });
  const root = scratch();
  const dir = join(root, 'team');
  git(root, 'clone', '--quiet', bus.hub, dir);
  git(dir, 'config', 'core.repositoryFormatVersion', '1');
  git(dir, 'config', 'extensions.unheardOf', 'true');
  const { code, err } = await command(['send', '--to', 'worker', 'hello'], {
    cwd: dir,
    env: { CROSSTALK_STATE_DIR: join(root, 'state') },
  });
  expect([code, err]).toEqual([1, expect.stringMatching(/^.*cannot be read.*unheardof.*\n$/)]);
});

it('nothing that a machine tells git to ignore, to filter, to encode or to run has a say in what a transport holds', async () => {
  const bus = new Bus();
  const at = (name: string): string => join(bus.root, name);
  const ours = join(process.env['HOME'] ?? '', '.gitconfig');
  mkdirSync(at('template/info'), { recursive: true });
  mkdirSync(at('hooks'));
  for (const path of ['ignored', 'template/info/exclude']) writeFileSync(at(path), '*\n');
  for (const path of ['attributes', 'template/info/attributes'])
    writeFileSync(at(path), '* text eol=crlf filter=lost working-tree-encoding=UTF-16\n');
  for (const name of ['pre-commit', 'post-checkout', 'post-index-change'])
    writeFileSync(at(`hooks/${name}`), `#!/bin/sh\ntouch ${at('ran')}\nexit 1\n`, { mode: 0o755 });
  const files = { excludesFile: 'ignored', attributesFile: 'attributes', hooksPath: 'hooks' };
  const lines = Object.entries(files).map(([name, file]) => `\t${name} = ${at(file)}\n`);
  const core = `[core]\n${lines.join('')}\tautocrlf = true\n\tsafecrlf = true\n`;
  const more = `[filter "lost"]\n\trequired\n[init]\n\ttemplateDir = ${at('template')}\n`;
  writeFileSync(ours, core + more);
  onTestFinished(() => {
    rmSync(ours);
  });
  const run = (dir: string, ...argv: string[]): ReturnType<typeof command> =>
    command(argv, { cwd: dir, env: { CROSSTALK_STATE_DIR: at('state') } });
  for (const name of ['one', 'two']) {
    const how = ['--remote', bus.hub, '--alias', name, '--cli', 'true', '--workdir', bus.root];
    expect((await run(bus.root, 'init', at(name), ...how)).code).toBe(0);
    const text = readFileSync(join(at(name), 'upstream/CROSSTALK.md'), 'utf8');
    expect(text).toBe(git(bus.hub, 'show', 'main:upstream/CROSSTALK.md'));
    expect(text).toMatch(/^#[^\r\0]+$/);
  }
  expect((await run(at('two'), 'send', '--to', 'nobody', 'hello')).out).toMatch(/^Sent: /);
  expect((await run(at('one'), 'sync')).out).toContain('Checkout: forwarded');
  expect(existsSync(at('ran'))).toBe(false);
});
