import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dropWorktree } from '../../src/bus/worktrees.ts';
import { Worktrees } from '../../src/state/worktrees.ts';
import { Bus, events, type Host } from '../support/bus.ts';
import { digestOf } from '../support/folder-digest.ts';
import { git } from '../support/git.ts';
import { sample } from '../support/form.ts';

/** A machine whose actor works in copies of a project, and does there what it was told. */
class Machine {
  readonly bus = new Bus();
  readonly app = join(this.bus.root, 'app');
  readonly marker = join(this.bus.root, 'something-ran');

  async host(): Promise<Host> {
    mkdirSync(this.app);
    git(this.app, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(this.app, 'readme'), 'hello\n');
    git(this.app, 'add', '.');
    git(this.app, '-c', 'user.name=o', '-c', 'user.email=o@example.com', 'commit', '-qm', 'first');
    const cli = `sed -n '/^#!/,$p' > "$CROSSTALK_RUN_DIR/script"; sh "$CROSSTALK_RUN_DIR/script"; echo done`;
    const host = await this.bus.host('front', { dev: { default: { cli, worktree: this.app } } });
    const who = { NAME: 'a', EMAIL: 'a@example.com' };
    for (const [key, value] of Object.entries(who))
      for (const role of ['AUTHOR', 'COMMITTER']) host.env[`GIT_${role}_${key}`] = value;
    host.env['MARKER'] = this.marker;
    return host;
  }

  get original(): string {
    return digestOf(
      this.app,
      (path) =>
        !/^\.git\/(?:objects|refs\/heads\/crosstalk|logs\/refs\/heads\/crosstalk)/.test(path),
    );
  }
}

/** Lets the actor do something in its copy, and the program look at the copy in every way it has. */
async function after(machine: Machine, host: Host, ...lines: string[]): Promise<string> {
  await host.run('send', '--to', 'dev', '--', ['#!/bin/sh', ...lines].join('\n'));
  const ran = await host.run('dispatch', '--once', '--host', host.alias);
  expect(ran.code, ran.err).toBe(0);
  expect(events(ran.err).filter(({ event }) => event === 'internal_error')).toEqual([]);
  for (const command of ['list', 'prune'])
    expect((await host.run('worktree', command)).code).toBe(0);
  for (const { id } of JSON.parse((await host.run('worktree', 'list', '--json')).out) as {
    id: string;
  }[])
    for (const command of ['show', 'diff', 'remove']) await host.run('worktree', command, id);
  await host.run('doctor');
  return machine.bus.from('dev').at(-1)?.message.body ?? '';
}

const COMMIT = 'echo x > new && git add . && git commit -qm work';
const RUNS = 'echo ran >> "$MARKER"';

it('no setting, hook or filter that a run puts into its copy is executed by the program', async () => {
  const machine = new Machine();
  const host = await machine.host();
  const before = machine.original;
  const said = await after(
    machine,
    host,
    `printf '%s\\n' '* filter=bad diff=bad merge=bad' > .gitattributes`,
    COMMIT,
    'echo dirty >> readme',
    `printf '#!/bin/sh\\n${RUNS.replaceAll('"', '\\"')}\\n' > "$CROSSTALK_RUN_DIR/bad" && chmod +x "$CROSSTALK_RUN_DIR/bad"`,
    'mkdir -p .git/hooks keep && cp "$CROSSTALK_RUN_DIR/bad" keep/bad',
    'for hook in post-checkout reference-transaction pre-push post-update pre-receive update post-index-change fsmonitor-watchman pre-auto-gc; do cp keep/bad .git/hooks/$hook; done',
    ...[
      ...[
        'core.fsmonitor',
        'core.sshCommand',
        'core.pager',
        'core.editor',
        'core.alternateRefsCommand',
      ],
      ...[
        'diff.external',
        'diff.bad.command',
        'diff.bad.textconv',
        'filter.bad.clean',
        'filter.bad.smudge',
      ],
      ...[
        'filter.bad.process',
        'uploadpack.packObjectsHook',
        'remote.origin.uploadpack',
        'merge.bad.driver',
      ],
      'gpg.program',
    ].map((key) => `git config ${key} "$PWD/keep/bad"`),
    'git config remote.origin.url "ext::sh -c $PWD/keep/bad"',
    'git config core.hooksPath "$PWD/keep"; git config extensions.partialClone origin; git config remote.origin.promisor true',
    'mkdir -p sub && git init -q sub && git -C sub config core.fsmonitor "$PWD/keep/bad"',
    // It is looked into as well, by what is in it and not by what it says.
    'git init -q nested && cp -r .git/config .git/hooks nested/.git/ && cp .gitattributes nested',
  );
  expect(said).toBe('done\n');
  expect(existsSync(machine.marker)).toBe(false);
  expect(machine.original).toBe(before);
  expect(git(machine.app, 'branch', '--list', 'crosstalk/*')).toContain('crosstalk/');
});

it.each(
  sample([
    [
      'a commit whose tree would write into .git',
      [
        'blob=$(echo evil | git hash-object -w --stdin)',
        `inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)`,
        `tree=$(printf '40000 .git\\0' > t; printf %s "$inner" | xxd -r -p >> t; git hash-object -t tree -w --literally t)`,
        'git update-ref HEAD $(git commit-tree $tree -p HEAD -m evil)',
      ],
    ],
    [
      'an object with the content of another one',
      [
        COMMIT,
        'oid=$(git rev-parse HEAD:new); file=.git/objects/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-)',
        'other=$(echo other | git hash-object -w --stdin)',
        'chmod u+w $file; cp .git/objects/$(echo $other | cut -c1-2)/$(echo $other | cut -c3-) $file',
      ],
    ],
    [
      'a commit whose files are missing',
      [
        COMMIT,
        'oid=$(git rev-parse HEAD:new); rm -f .git/objects/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-)',
      ],
    ],
    [
      'objects that are somebody else’s',
      [COMMIT, 'echo /somewhere/objects > .git/objects/info/alternates'],
    ],
    [
      'a git directory that is somewhere else',
      [COMMIT, 'mv .git "$CROSSTALK_RUN_DIR/../moved" && ln -s "$CROSSTALK_RUN_DIR/../moved" .git'],
    ],
    [
      'a branch that is a named pipe',
      [COMMIT, 'branch=$(git symbolic-ref HEAD); rm .git/$branch; mkfifo .git/$branch'],
    ],
    [
      'an object that is a named pipe',
      [
        COMMIT,
        'oid=$(git rev-parse HEAD:new); file=.git/objects/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-)',
        'rm -f $file; mkfifo $file',
      ],
    ],
    [
      'a pack that is a named pipe',
      [COMMIT, `name=.git/objects/pack/pack-${'a'.repeat(40)}; mkfifo $name.pack $name.idx`],
    ],
    [
      'a folder of objects that is a symlink',
      [
        COMMIT,
        'oid=$(git rev-parse HEAD:new); folder=.git/objects/$(echo $oid | cut -c1-2)',
        'mv $folder "$CROSSTALK_RUN_DIR/../objects" && ln -s "$CROSSTALK_RUN_DIR/../objects" $folder',
      ],
    ],
    ['no git directory at all', ['rm -rf .git']],
  ]),
)(
  '%s does not come into the original, and the answer is not lost',
  { tags: 'sampled' },
  async (_, lines) => {
    const machine = new Machine();
    const host = await machine.host();
    const before = machine.original;
    const objects = (): string[] =>
      readdirSync(join(machine.app, '.git/objects'), { recursive: true }).map(String).sort();
    const there = objects();
    expect(await after(machine, host, ...lines)).toBe('done\n');
    expect(machine.original).toBe(before);
    expect(git(machine.app, 'branch', '--list', 'crosstalk/*')).toBe('');
    expect(objects().filter((path) => !there.includes(path) && path.length > 3)).toEqual([]);
    git(machine.app, 'fsck', '--strict');
  },
);

it.each([
  ['an index that is a named pipe', ['rm .git/index; mkfifo .git/index']],
  ['rules for git that are a named pipe', ['mkdir d; mkfifo .gitignore d/.gitignore']],
  ['attributes for git that are a named pipe', ['touch readme; mkfifo .gitattributes']],
  ['an index of rubbish', ['head -c 5000 /dev/urandom > .git/index']],
  ['a HEAD that names a branch outside', ['echo "ref: refs/heads/../../../../x" > .git/HEAD']],
  ['names that differ only in case', ['echo a > a; echo b > A; git add . && git commit -qm case']],
  ['a submodule', ['git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub']],
])(
  'a copy with %s is looked at without waiting, and never removed with what is in it',
  { tags: 'long' },
  async (_, lines) => {
    const machine = new Machine();
    const host = await machine.host();
    const before = machine.original;
    expect(
      await after(machine, host, 'echo precious > precious', COMMIT, ...lines, 'echo x >> new'),
    ).toBe('done\n');
    expect(machine.original).toBe(before);
    const [{ dir }] = JSON.parse((await host.run('worktree', 'list', '--json')).out) as [
      { dir: string },
    ];
    expect(existsSync(join(dir, 'precious'))).toBe(true);
    expect(git(machine.app, 'branch', '--list', 'crosstalk/*')).toContain('crosstalk/');
    git(machine.app, 'fsck', '--strict');
  },
);

it(
  'a named pipe where git reads rules is told by its name, long before git would give up',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const host = await machine.host();
    // Were it waited for, this would not end before the test does.
    host.env['CROSSTALK_GIT_TIMEOUT'] = '600';
    await after(machine, host, COMMIT, 'mkdir d; mkfifo d/.gitignore');
    const { out } = await host.run('worktree', 'list');
    expect(out).toContain('/d/.gitignore is not what git has made there');
    expect((await host.run('worktree', 'prune')).out).toContain('Kept: ');
  },
);

it('a copy in which a run has begun since somebody looked at it is not removed', async () => {
  const machine = new Machine();
  const worktrees = new Worktrees(join(machine.bus.root, 'worktrees'));
  const wanted = {
    ...{ actor: 'dev', channel: 'c', root: 'r', source: machine.app },
    ...{ thread: '0a0a0a0a', name: 'app' },
  };
  const looked = await worktrees.open(wanted, new Date(1000));
  worktrees.leave(looked);
  mkdirSync(looked.dir);
  const begun = await worktrees.open(wanted, new Date(2000));
  expect(begun.dir).toBe(looked.dir);
  expect(await dropWorktree(worktrees, looked)).toBe(false);
  expect(existsSync(looked.dir)).toBe(true);
  expect(await dropWorktree(worktrees, begun)).toBe(true);
  expect(existsSync(looked.dir)).toBe(false);
});
