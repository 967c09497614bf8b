import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { binPath } from '../../src/package.ts';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { tried } from '../support/sandboxed.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

/** A socket on which a program of the operator's listens. */
async function listening(path: string): Promise<void> {
  const server = createServer((socket) => socket.end('secret'));
  await new Promise<void>((resolve) => {
    server.listen(path, () => {
      resolve();
    });
  });
  onTestFinished(() => {
    server.close();
  });
}

const dial = (path: string): string =>
  `node -e "require('net').connect('${path}').on('data',d=>process.exit(String(d)==='secret'?0:1)).on('error',()=>process.exit(1))"`;

can(
  `a run in a sandbox reaches no socket of other programs, no keyring and no terminal${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const home = join(bus.root, 'home');
    for (const folder of ['.agent', 'work', '.config/app'])
      mkdirSync(join(home, folder), { recursive: true });
    const host = await bus.host('front', {});
    Object.assign(host.env, {
      HOME: home,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.extraHeader',
      GIT_CONFIG_VALUE_0: 'Authorization: secret',
    });
    const sockets = ['.agent/s', '.config/app/s', 'work/s', 's'].map((name) => join(home, name));
    for (const path of sockets) await listening(path);
    const calls = (number: Record<string, number>): string =>
      `perl -e 'exit(syscall(${String(number[process.arch])}, 0, -3, 1) < 0)'`;
    const commands = {
      ...Object.fromEntries(sockets.map((path) => [`reach ${path}`, dial(path)])),
      'see a token in a variable of git': 'git config --get http.extraHeader',
      'find a keyring': calls({ x64: 250, arm64: 219 }),
      '(talk to the dispatcher)': 'crosstalk actor list',
      '(use git)': 'cd "$(mktemp -d)" && git init -q && git status',
    };
    const work = { workdir: join(home, 'work') };
    const free = await tried({ bus, host }, commands, work);
    // What ties git to somebody's session is handed on to no run.
    const handedOn = Object.keys(commands).filter((name) => !name.includes('variable of git'));
    expect(free.succeeded).toEqual(handedOn);
    const boxed = await tried({ bus, host }, commands, { ...work, sandbox: { net: ['none'] } });
    expect(boxed.succeeded).toEqual(['(talk to the dispatcher)', '(use git)']);
  },
);

can(
  `a run in a sandbox inherits nothing that is open in the dispatcher${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const secret = join(bus.root, 'secret');
    writeFileSync(secret, 'secret words');
    // Whoever starts the dispatcher may leave something open, as some terminals do.
    const pass = async (sandbox: string): Promise<string> => {
      const cli = 'cat > /dev/null; cat /proc/self/fd/20; ls -A /dev/shm; echo end';
      const tier = sandbox === '' ? { cli } : { cli, sandbox };
      host.declare({ dev: { default: tier } });
      await host.approve();
      await host.send('dev', 'go on');
      const fd = openSync(secret, 'r');
      const words = [binPath(), 'dispatch', '--once', '--host', 'front'];
      // Node itself closes the first sixteen.
      const rest = Array.from({ length: 17 }, () => 'ignore' as const);
      const stdio = ['ignore' as const, 'pipe' as const, 'pipe' as const, ...rest, fd];
      const env = { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir };
      const ran = spawnSync(process.execPath, words, { env, stdio });
      closeSync(fd);
      expect(ran.status, ran.stderr.toString()).toBe(0);
      return bus.from('dev').at(-1)?.message.body ?? '';
    };
    expect(await pass('')).toContain('secret words');
    expect(await pass('default')).toBe('end\n');
  },
);

can(
  `a run in a sandbox leaves nothing in a folder of the operator’s that their git executes${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const home = join(bus.root, 'home');
    const [app, nested] = [join(home, 'app'), join(home, 'app/nested')];
    for (const folder of [app, nested]) {
      mkdirSync(folder, { recursive: true });
      git(folder, 'init', '--quiet', '--initial-branch=main');
      for (const [name, value] of [
        ['user.name', 'o'],
        ['user.email', 'o@example.com'],
      ] as const)
        git(folder, 'config', name, value);
      writeFileSync(join(folder, 'readme'), 'hello\n');
      git(folder, 'add', 'readme');
      git(folder, 'commit', '--quiet', '--message', 'first');
    }
    const host = await bus.host('front', {});
    host.env['HOME'] = home;
    const planted = join(bus.root, 'planted');
    const commands = {
      'set a monitor': `git config core.fsmonitor 'touch ${planted}; false'`,
      'set one in a nested repository': `git -C nested config core.fsmonitor 'touch ${planted}; false'`,
      'write a hook': `printf '#!/bin/sh\\ntouch ${planted}\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`,
      'put another one in its place': 'mv .git .git2 && cp -r .git2 .git && rm -rf .git2',
      'say that its settings are elsewhere': 'echo . > .git/commondir',
      '(write where it works)': 'echo more >> readme && echo x > new',
      '(see what changed)': 'git -c core.fsmonitor=false diff --stat | grep -q readme',
    };
    const { succeeded } = await tried({ bus, host }, commands, {
      workdir: app,
      sandbox: { net: ['none'] },
    });
    expect(succeeded).toEqual(['(write where it works)', '(see what changed)']);
    git(app, 'commit', '--quiet', '--all', '--message', 'mine');
    git(nested, 'status');
    expect(existsSync(planted)).toBe(false);
    // Outside of a sandbox each of them succeeds; the last ones would undo the others.
    const free = await tried({ bus, host }, commands, { workdir: app });
    expect(free.succeeded).toEqual(Object.keys(commands));
    expect(readdirSync(join(app, '.git'))).toContain('commondir');
    // Who wants commits made in the folder itself says so.
    git(app, 'config', '--unset', 'core.fsmonitor');
    const allowed = await tried(
      { bus, host },
      { '(commit)': 'git commit -q --no-verify -am more' },
      { workdir: app, sandbox: { net: ['none'], write: [join(app, '.git')] } },
    );
    expect(allowed.succeeded).toEqual(['(commit)']);
  },
);

const script = spawnSync('script', ['--version']).status === 0;
/** A kernel that lets nobody type for others needs no filter. */
const types =
  !existsSync('/proc/sys/dev/tty/legacy_tiocsti') ||
  readFileSync('/proc/sys/dev/tty/legacy_tiocsti', 'utf8').trim() === '1';

it.skipIf(!backend.ok || !script || !types)(
  `a command in a sandbox types nothing into the terminal of the operator${UNLESS}`,
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const type = join(bus.root, 'home-type.pl');
    mkdirSync(join(bus.root, 'work'));
    writeFileSync(type, 'my $c = "x"; print ioctl(STDIN, 0x5412, $c) ? "typed\\n" : "refused\\n";');
    const inTerminal = (...words: string[]): string =>
      execFileSync('script', ['-qec', words.map((word) => `'${word}'`).join(' '), '/dev/null'], {
        cwd: join(bus.root, 'work'),
        env: { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir },
        encoding: 'utf8',
        input: '',
      });
    expect(inTerminal('perl', type)).toContain('typed');
    const code = readFileSync(type, 'utf8').replaceAll("'", '');
    const boxed = inTerminal(
      process.execPath,
      binPath(),
      'sandbox',
      'run',
      '--',
      'perl',
      '-e',
      code,
    );
    expect(boxed).toContain('refused');
  },
);
