import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { scratch } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { REF } from '../support/project-bus.ts';
import { exec, put } from '../support/service.ts';

const OWN = ['--cli', 'echo answered', '--no-sandbox'];

/** Somebody with a machine of their own, who has never been on a bus and runs the real program. */
class Stranger {
  readonly home: string;
  readonly app: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(root: string, name: string) {
    this.home = join(root, name);
    this.app = join(this.home, 'app');
    const bin = join(this.home, 'bin');
    mkdirSync(bin, { recursive: true });
    const config = join(this.home, '.gitconfig');
    writeFileSync(config, `[user]\n\tname = ${name}\n\temail = ${name}@example.com\n`);
    put(bin, 'crosstalk', `exec '${process.execPath}' '${resolve('bin/crosstalk.js')}' "$@"`);
    const PATH = `${bin}:${process.env['PATH'] ?? ''}`;
    this.env = { PATH, HOME: this.home, USER: name, LOGNAME: name, GIT_CONFIG_NOSYSTEM: '1' };
  }

  /** Gives a command in their clone of the project. */
  says(...argv: string[]): Promise<Ran> {
    return exec(['crosstalk', ...argv], this.env, this.app);
  }

  async done(...argv: string[]): Promise<Ran> {
    const ran = await this.says(...argv);
    expect(ran.code, ran.err).toBe(0);
    return ran;
  }

  /** Leaves a dispatcher running until the test is over. */
  dispatch(): void {
    const child = spawn('crosstalk', ['dispatch'], {
      cwd: this.app,
      env: this.env,
      stdio: 'ignore',
    });
    const gone = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await gone;
    });
  }

  /** The clones of buses that are on their machine. */
  get clones(): string[] {
    const data = join(this.home, '.local/share/crosstalk');
    return execFileSync('sh', ['-c', `ls '${data}' 2>/dev/null || true`], { encoding: 'utf8' })
      .split('\n')
      .filter(Boolean);
  }
}

/** A bare repository with one commit. */
function hubIn(root: string, name = 'hub.git'): string {
  const hub = join(root, name);
  git(root, 'init', '--quiet', '--bare', '--initial-branch=main', hub);
  const first = join(root, 'first');
  git(root, 'clone', '--quiet', hub, first);
  git(first, 'commit', '--quiet', '--allow-empty', '--message', 'some code');
  git(first, 'push', '--quiet', 'origin', 'HEAD:main');
  return hub;
}

/** Lets somebody reach repositories of this machine as a forge lets those who may read and not push. */
function readOnly(stranger: Stranger): void {
  const ssh = join(stranger.home, 'ssh');
  const denied = 'echo "ERROR: Permission to team/app.git denied to eve." >&2; exit 1';
  put(
    stranger.home,
    'ssh',
    `for last; do :; done\ncase $last in git-receive-pack*) ${denied} ;; esac\neval "$last"`,
  );
  stranger.env['GIT_SSH_COMMAND'] = ssh;
}

/** The last line that a failed command says, without its name. */
function lastLine({ err }: Ran): string {
  return err.trimEnd().split('\n').at(-1) ?? '';
}

it('somebody whose project has no remote gets a bus on their machine, and takes it to a remote later', async () => {
  const root = scratch();
  const hub = hubIn(root);
  const anna = new Stranger(root, 'anna');
  git(root, 'clone', '--quiet', hub, anna.app);
  git(anna.app, 'remote', 'remove', 'origin');
  const made = await anna.done('init', ...OWN);
  expect(made.out).toContain('stays on this machine, as the project has no remote');
  expect(made.out).toMatch(
    /^Next: crosstalk dispatch, and in another shell there: crosstalk ask /m,
  );
  anna.dispatch();
  expect((await anna.done('ask', 'concierge', 'hello', '--timeout', '200')).out).toBe('answered\n');

  // What they are told then, to the letter.
  git(anna.app, 'remote', 'add', 'origin', hub);
  const told = lastLine(await anna.says('init', ...OWN));
  expect(told).toContain('is here already, without a remote');
  const [, add = '', show = ''] =
    /with: (git .*), and accept that .*: (crosstalk .*)$/.exec(told) ?? [];
  expect((await exec(['sh', '-c', add], anna.env, anna.app)).code).toBe(0);
  const held = await exec(['sh', '-c', show], anna.env, anna.app);
  const [, accept = ''] = /with: (crosstalk host approve) <digest>/.exec(held.out) ?? [];
  const [, digest = ''] = /^([0-9a-f]{12}) {2}remote\.origin\.url$/m.exec(held.out) ?? [];
  expect((await exec(['sh', '-c', `${accept} ${digest}`], anna.env, anna.app)).code).toBe(0);
  await anna.done('sync');
  expect(git(hub, 'log', '--format=%s', REF)).toContain('concierge');
});

it('somebody who may not push to the project is told what to do, and nothing is lost', async () => {
  const root = scratch();
  const hub = hubIn(root);
  const eve = new Stranger(root, 'eve');
  readOnly(eve);
  const address = `ssh://localhost${hub}`;
  git(root, 'clone', '--quiet', hub, eve.app);
  git(eve.app, 'remote', 'set-url', 'origin', address);
  const refused = await eve.says('init', ...OWN);
  expect(refused.code).toBe(1);
  expect(lastLine(refused)).toContain('Permission to team/app.git denied to eve.');
  expect(lastLine(refused)).toContain('you can push to: crosstalk init <dir> --remote <url>');
  expect(eve.clones).toEqual([]);

  // Where the project has a bus, they may read it; what they write is kept until they may push.
  const anna = new Stranger(root, 'anna');
  git(root, 'clone', '--quiet', hub, anna.app);
  await anna.done('init', ...OWN, '--alias', 'annas-machine');
  const before = git(hub, 'rev-parse', REF);
  const fork = join(root, 'fork.git');
  git(root, 'clone', '--quiet', '--mirror', hub, fork);
  git(eve.app, 'remote', 'set-url', 'origin', fork);
  const copy = await eve.says('init', ...OWN);
  expect([copy.code, lastLine(copy)]).toEqual([1, expect.stringContaining('is a copy here')]);
  const joining = await eve.says('init', ...OWN, '--actor', 'eves', '--join', address);
  expect(joining.code).toBe(1);
  expect(joining.err).toMatch(
    /joined here, but not pushed: .*Permission to .*; what you write waits here: ask for the right to push/,
  );
  expect(joining.out).toContain('Next: the right to push, and then: crosstalk sync\n');
  expect((await eve.done('actor', 'list')).out).toContain('concierge');
  const asked = await eve.says('ask', 'concierge', 'hello', '--timeout', '1');
  expect([asked.code, asked.err]).toEqual([3, expect.stringContaining('Permission to')]);
  expect(git(hub, 'rev-parse', REF)).toBe(before);
  writeFileSync(join(eve.home, 'ssh'), '#!/bin/sh\nfor last; do :; done\neval "$last"\n');
  await eve.done('sync');
  expect(git(hub, 'grep', '--name-only', 'hello', REF, '--', 'data')).toContain('data/channels/');
  expect(git(hub, 'grep', '--name-only', 'eves', REF, '--', 'hosts')).toContain('hosts/');
});

/** Options and commands that git has got since 2.34, as far as they are of use to a program. */
const NEWER = [
  ...['--batch-command', '--refetch', '--also-filter-submodules', '--object-only', '--write-tree'],
  ...['--cruft', '--show-ref-format', '--ref-format=*', '--exclude-hidden=*', '--attr-source*'],
  ...['--omit-empty', '--include-root-refs', '--format=*:ls-tree', '--format=*:ls-files'],
  ...['--porcelain:fetch', '--exclude=*:for-each-ref', '-z:cat-file', '-Z:cat-file', '-z:worktree'],
  ...['refs', 'hook', 'replay', 'backfill', 'get:config', 'set:config', 'list:config'],
];

/** Puts a git on somebody's PATH that knows what the given version knows; what it refused is in a file. */
function olderGit(stranger: Stranger, version: string, unknown: readonly string[]): string {
  const real = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
  const trace = join(stranger.home, 'refused');
  const cases = unknown.map((one) => {
    const [word = '', command = '*'] = one.split(':');
    return `    ${command}\\ ${word}) refuse "$arg" ;;`;
  });
  put(
    join(stranger.home, 'bin'),
    'git',
    [
      `refuse() { echo "$sub $1" >> '${trace}'; echo "error: unknown option \\\`$1'" >&2; exit 129; }`,
      'sub= skip=',
      'for arg; do',
      '  if [ -n "$skip" ]; then skip=; continue; fi',
      `  if [ -z "$sub" ]; then case $arg in -c|-C) skip=1; continue ;; --version) echo 'git version ${version}'; exit ;; -*) ;; *) sub=$arg ;; esac; fi`,
      '  case "$sub $arg" in',
      ...cases,
      '  esac',
      'done',
      `exec '${real}' "$@"`,
    ].join('\n'),
  );
  return trace;
}

it('a second machine with the oldest git that is supported joins, asks and answers', async () => {
  const root = scratch();
  const hub = hubIn(root);
  const [anna, ben] = [new Stranger(root, 'anna'), new Stranger(root, 'ben')];
  const trace = olderGit(ben, '2.34.0', NEWER);
  for (const one of [anna, ben]) git(root, 'clone', '--quiet', hub, one.app);
  await anna.done('init', ...OWN, '--actor', 'annas', '--anyone-who-can-push');
  const joined = await ben.done('init', ...OWN, '--actor', 'bens', '--anyone-who-can-push');
  expect(joined.out).toContain('Joined as ');
  anna.dispatch();
  ben.dispatch();
  expect((await ben.done('ask', 'annas', 'hello', '--timeout', '200')).out).toBe('answered\n');
  expect((await anna.done('ask', 'bens', 'hello', '--timeout', '200')).out).toBe('answered\n');
  const checked = await ben.says('doctor');
  expect(checked.out).toContain('git version 2.34.0');
  expect(existsSync(trace)).toBe(false);
});

it.each([
  ['is too old', '2.25.1', /needs git 2\.34 or newer/],
  ['is not there', undefined, /git could not be started: .*; install git 2\.34 or newer/],
])(
  'somebody whose git %s is told so in one line, and nothing is left',
  async (_, version, words) => {
    const root = scratch();
    const hub = hubIn(root);
    const zoe = new Stranger(root, 'zoe');
    git(root, 'clone', '--quiet', hub, zoe.app);
    if (version !== undefined)
      olderGit(zoe, version, [...NEWER, '--show-scope', '--path-format=*']);
    else zoe.env['PATH'] = join(zoe.home, 'bin');
    const refused = await exec([join(zoe.home, 'bin/crosstalk'), 'init', ...OWN], zoe.env, zoe.app);
    expect([refused.code, refused.err.trimEnd().split('\n')]).toEqual([
      1,
      [expect.stringMatching(words)],
    ]);
    expect(zoe.clones).toEqual([]);
    expect(git(hub, 'for-each-ref', REF)).toBe('');
  },
);
