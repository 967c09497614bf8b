import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { tried } from '../support/sandboxed.ts';
import { until } from '../support/wait.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

/** A repository with one commit. */
function repository(folder: string): string {
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '--quiet', '--initial-branch=main');
  git(folder, 'config', 'user.name', 'o');
  git(folder, 'config', 'user.email', 'o@example.com');
  writeFileSync(join(folder, 'readme'), 'hello\n');
  git(folder, 'add', 'readme');
  git(folder, 'commit', '--quiet', '--message', 'first');
  return folder;
}

interface World {
  bus: Bus;
  host: Host;
  home: string;
  work: string;
  /** The tier that the host file has. */
  declared?: string;
}

async function world(): Promise<World> {
  const bus = new Bus();
  const home = join(bus.root, 'home');
  const work = join(home, 'work');
  mkdirSync(work, { recursive: true });
  const host = await bus.host('front', {});
  host.env['HOME'] = home;
  return { bus, host, home, work };
}

/** The log of a run of a tier with a sandbox, which may be kept from beginning. */
async function runOnce(
  at: World,
  cli: string,
  sandbox: { write?: string[]; hide?: string[]; read?: string[] } = {},
): Promise<Event[]> {
  const { host, work } = at;
  const tier = { cli, workdir: work, sandbox: { net: ['none'], ...sandbox } };
  if (at.declared !== JSON.stringify(tier)) {
    host.declare({ dev: { default: tier } });
    await host.approve();
  }
  at.declared = JSON.stringify(tier);
  await host.send('dev', 'go on');
  return host.once();
}

const why = (log: readonly Event[]): string =>
  log
    .filter(({ event, reason }) => event === 'parked' && reason === 'no_sandbox')
    .map(({ detail }) => String(detail))
    .join('\n');

can(
  `over two runs a run uncovers no repository of the operator’s by moving folders${UNLESS}`,
  { tags: 'long' },
  async () => {
    const at = await world();
    const { home, work } = at;
    const planted = join(home, 'planted');
    repository(join(work, 'app'));
    repository(join(work, 'one/two/three/deep'));
    execFileSync('git', ['init', '--quiet', '--bare', join(work, 'one/store')]);
    // A submodule that is there, and one that is not yet.
    const library = repository(join(home, 'library'));
    const both = repository(join(work, 'both'));
    for (const name of ['there', 'missing'])
      git(both, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, name);
    git(both, 'commit', '--quiet', '--message', 'submodules');
    git(both, 'submodule', '--quiet', 'deinit', '--force', 'missing');
    const monitor = `core.fsmonitor 'touch ${planted}; false'`;
    const options = { workdir: work, sandbox: { net: ['none'] } };
    const moving = {
      'move a repository into a folder': 'mkdir aside && mv app aside/app',
      'move a folder around one': 'mv one aside-one',
      'move one in the middle': 'mv one/two/three one/two/four',
      'move a submodule': 'mv both/there both/elsewhere',
      'move the repository around it': 'mv both both2',
    };
    const first = await tried(at, moving, options);
    expect(first.succeeded).toEqual([]);
    const planting = {
      'where it was moved to': `mv aside/app app; git -C app config ${monitor}`,
      deeper: `git -C one/two/three/deep config ${monitor}`,
      'in a bare repository': `git --git-dir=one/store config ${monitor}`,
      'in a submodule': `git -C both/there config ${monitor}`,
      'in one that is not there': `cd both/missing && git init -q && git config ${monitor}`,
      'in the place of a submodule': `cd both/there && rm .git && git init -q && git config ${monitor}`,
      'in the place of its folder': `mv both/missing m && mkdir both/missing`,
    };
    const second = await tried(
      at,
      { ...moving, ...planting, '(write)': 'echo x > app/x' },
      options,
    );
    expect(second.succeeded).toEqual(['(write)']);
    for (const folder of ['app', 'one/two/three/deep', 'both', 'both/there'])
      git(join(work, folder), 'status');
    expect(existsSync(planted)).toBe(false);
  },
);

can(
  `what a sandbox hides stays hidden when folders are moved in a run before${UNLESS}`,
  { tags: 'long' },
  async () => {
    const at = await world();
    const work = join(at.bus.root, 'outside');
    mkdirSync(join(work, 'a/b/diary'), { recursive: true });
    writeFileSync(join(work, 'a/b/diary/today'), 'private words');
    const options = { workdir: work, sandbox: { net: ['none'], hide: [join(work, 'a/b/diary')] } };
    const look = "grep -rq 'private words' .";
    const moving = { 'move a folder around it': 'mv a/b a/c', 'and above it': 'mv a z', look };
    expect((await tried(at, moving, options)).succeeded).toEqual([]);
    expect((await tried(at, { look }, options)).succeeded).toEqual([]);
    expect((await tried(at, { look }, { workdir: work })).succeeded).toEqual(['look']);
  },
);

can(
  `a symlink that a run leaves in the place of what a sandbox names leads the next one nowhere${UNLESS}`,
  async () => {
    const at = await world();
    const { home, work } = at;
    mkdirSync(join(home, 'away'));
    writeFileSync(join(home, 'away/secret'), 'private words');
    const cli =
      'cat > /dev/null; ln -s ../away out; cat out/secret; echo x > out/planted; echo done';
    for (const option of ['write', 'read']) {
      const sandbox = { [option]: ['~/work/out'] };
      // The first run leaves the symlink; the second would have what it leads to.
      await runOnce(at, cli, sandbox);
      const log = await runOnce(at, cli, sandbox);
      expect(why(log)).toContain(`leads by the symlink ${join(work, 'out')}`);
      execFileSync('rm', [join(work, 'out')]);
    }
    expect(readdirSync(join(home, 'away'))).toEqual(['secret']);
    expect(
      at.bus
        .from('dev')
        .map(({ message }) => message.body)
        .join(''),
    ).not.toContain('private');
  },
);

can(
  `a repository that no mount can keep holds the mail, and says what to do${UNLESS}`,
  async () => {
    const at = await world();
    const { host, home, work } = at;
    const cli = 'cat > /dev/null; echo done';
    repository(join(home, 'elsewhere'));
    symlinkSync(join(home, 'elsewhere/.git'), join(work, '.git'));
    expect(why(await runOnce(at, cli))).toContain(`${join(work, '.git')} is a symlink`);
    const status = await host.run('status');
    expect(status.out).toContain('parked deliveries whose sandbox cannot be made');
    execFileSync('rm', [join(work, '.git')]);
    // A file that leads to a place where a run could make a repository.
    writeFileSync(join(work, '.git'), `gitdir: ${join(work, 'not/there')}\n`);
    expect(why(await runOnce(at, cli))).toContain(
      'which is missing, in a folder that runs may write',
    );
    execFileSync('rm', [join(work, '.git')]);
    // More than can be covered.
    execFileSync('sh', ['-c', 'mkfifo $(seq 1 1001)'], { cwd: work });
    expect(why(await runOnce(at, cli))).toContain('more than 1000 sockets');
    execFileSync('sh', ['-c', 'rm $(seq 1 1001)'], { cwd: work });
    const said = (): string[] => at.bus.from('dev').map(({ message }) => message.body);
    expect(said()).not.toContain('done\n');
    expect((await host.run('dlq', '--retry', 'all')).code).toBe(0);
    await host.once();
    expect(said()).toContain('done\n');
  },
);

can(
  `what a run puts beside a name that is not UTF-8, or makes of its folder, holds the next run${UNLESS}`,
  { tags: 'long' },
  async () => {
    const at = await world();
    const { work } = at;
    const settings = join(at.home, '.claude');
    repository(join(settings, 'plugins'));
    // The decoded name of the folder is that of the link, which leads to the operator's settings.
    const odd = "z/$(printf 'd\\351')";
    const plant = `cat > /dev/null; mkdir -p "${odd}"; ln -s ../../.claude "z/$(printf 'd\\357\\277\\275')"; echo done`;
    expect(why(await runOnce(at, plant))).toBe('');
    expect(readdirSync(join(work, 'z'))).toHaveLength(2);
    const held = await runOnce(
      at,
      'cat > /dev/null; cat ../.claude/plugins/readme; echo x > ../.claude/x',
    );
    expect(why(held)).toContain('whose name is not UTF-8');
    expect(existsSync(join(settings, 'x'))).toBe(false);
    rmSync(join(work, 'z'), { recursive: true });
    const made =
      'cat > /dev/null; mkdir objects refs; echo "ref: refs/heads/main" > HEAD; echo made';
    expect(why(await runOnce(at, made))).toBe('');
    expect(why(await runOnce(at, made))).toContain('is itself a repository to git');
  },
);

can(
  `a run in a sandbox is root of no user namespace, in which mounts could be left behind${UNLESS}`,
  async () => {
    const at = await world();
    const { succeeded } = await tried(
      at,
      {
        '(usual)': 'true',
        '(threads)': "node -e \"new (require('worker_threads').Worker)('1', {eval: true})\"",
        unshare: 'unshare --user true',
        'root of it': 'unshare --map-root-user --mount true',
        bubblewrap: 'bwrap --unshare-user --bind / / true',
      },
      { workdir: at.work, sandbox: { net: ['none'] } },
    );
    expect(succeeded).toEqual(['(usual)', '(threads)']);
  },
);

can(
  `a link in a folder that another actor may write stands for no folder of a sandbox${UNLESS}`,
  async () => {
    const at = await world();
    const { host, home, work } = at;
    mkdirSync(join(work, 'sub'));
    mkdirSync(join(home, '.ssh'));
    writeFileSync(join(home, '.ssh/id'), 'the key');
    const cli = 'cat > /dev/null; cat .ssh/id ../.ssh/id docs/id; pwd';
    const net = ['none'];
    host.declare({
      other: { default: { cli: 'cat > /dev/null; true', workdir: work, sandbox: { net } } },
      below: { default: { cli, workdir: join(work, 'sub'), sandbox: { net } } },
      reader: { default: { cli, sandbox: { net, read: [join(work, 'docs')] } } },
    });
    await host.approve();
    rmSync(join(work, 'sub'), { recursive: true });
    symlinkSync('..', join(work, 'sub'));
    symlinkSync('../.ssh', join(work, 'docs'));
    await host.send('below,reader', 'go on');
    const log = await host.once();
    expect(why(log)).toContain(`the symlink ${join(work, 'sub')}`);
    expect(why(log)).toContain(`the symlink ${join(work, 'docs')}`);
    expect(JSON.stringify(at.bus.messages())).not.toContain('the key');
  },
);

can(
  `repositories that were moved or made during a run are told of, and a moved one holds the next run${UNLESS}`,
  async () => {
    const at = await world();
    const { home, work } = at;
    repository(join(work, 'app'));
    const cli =
      'cat > /dev/null; git init -q made; touch waits; until test -e go; do sleep 0.1; done; echo done';
    // A run that began before the repository was there is not kept from moving it; here somebody else is it.
    const running = runOnce(at, cli);
    await until('the run', () => existsSync(join(work, 'waits')));
    renameSync(join(work, 'app'), join(home, 'app'));
    writeFileSync(join(work, 'go'), '');
    const log = await running;
    const said = log.filter(({ event }) => event.startsWith('repository_'));
    expect(said.map(({ event, path }) => [event, path])).toEqual([
      ['repository_moved', join(work, 'app/.git')],
      ['repository_new', join(work, 'made/.git')],
    ]);
    const next = 'cat > /dev/null; echo next';
    expect(why(await runOnce(at, next))).toMatch(/app\/\.git was moved or replaced during a run/);
    renameSync(join(home, 'app'), join(work, 'app'));
    expect(why(await runOnce(at, next))).toBe('');
    expect(at.bus.from('dev').at(-1)?.message.body).toBe('next\n');
  },
);
