import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, events, type Event, type Host, type Stored } from '../support/bus.ts';
import { digestOf } from '../support/folder-digest.ts';
import { git } from '../support/git.ts';
import { canMount, mounted } from '../support/mounts.ts';
import { noOtherUser } from '../support/other-user.ts';
import { sample } from '../support/form.ts';

/** What may change in a repository, bare or not: its objects, and the branches of threads. */
const OF_THREADS =
  /^(?:\.git\/)?(?:objects|refs\/heads\/crosstalk|logs(?:\/refs(?:\/heads(?:\/crosstalk)?)?)?$|logs\/refs\/heads\/crosstalk)/;

/** Says which files are there, and commits one more. */
const WRITER = `cat > /dev/null; ls | tr '\\n' ' '; echo x > "f-$$"; git add . && git commit -qm work`;

function commit(dir: string, name: string, content = `${name}\n`): void {
  writeFileSync(join(dir, name), content);
  git(dir, 'add', '.');
  git(dir, 'commit', '--quiet', '--message', name);
}

/** A repository with three files, from three commits. */
function project(dir: string, ...options: string[]): string {
  mkdirSync(dir, { recursive: true });
  git(dir, 'init', '--quiet', '--initial-branch=main', ...options);
  for (const name of ['one', 'three', 'two']) commit(dir, name);
  return dir;
}

/** A repository from which parts of it may be fetched. */
function server(root: string): string {
  const dir = project(join(root, 'server'));
  git(dir, 'config', 'uploadpack.allowFilter', 'true');
  git(dir, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
  return dir;
}

function cloned(root: string, ...options: string[]): string {
  git(root, 'clone', '--quiet', ...options, `file://${server(root)}`, 'app');
  return join(root, 'app');
}

/** Programs that leave a trace, by all the names that git may call. */
function hooks(folder: string, trace: string): void {
  mkdirSync(folder);
  for (const name of [
    ...['post-checkout', 'post-commit', 'post-index-change', 'pre-push', 'reference-transaction'],
    ...['fsmonitor', 'clean', 'smudge'],
  ]) {
    writeFileSync(join(folder, name), `#!/bin/sh\necho ${name} >> ${trace}\ncat\n`);
    chmodSync(join(folder, name), 0o755);
  }
}

/** A machine whose actor works in copies of one repository. */
class Machine {
  readonly bus = new Bus();
  readonly root = this.bus.root;
  readonly trace = join(this.root, 'trace');

  async host(worktree: string, options: Record<string, string> = {}): Promise<Host> {
    const tier = { cli: WRITER, worktree, attempts: 1, ...options };
    const host = await this.bus.host('front', { dev: { default: tier } });
    for (const role of ['AUTHOR', 'COMMITTER'])
      Object.assign(host.env, {
        [`GIT_${role}_NAME`]: 'a',
        [`GIT_${role}_EMAIL`]: 'a@example.com',
      });
    return host;
  }

  /** A task, or the next one of the thread, and the answer to it. */
  async round(host: Host): Promise<Stored | undefined> {
    const last = this.bus.from('dev').at(-1);
    if (last === undefined) await host.send('dev', 'go');
    else expect((await host.run('reply', last.relPath, 'go on')).code).toBe(0);
    const ran = await host.run('dispatch', '--once', '--host', 'front');
    expect(ran.code, ran.err).toBe(0);
    const broken = events(ran.err).filter(({ event }: Event) => event === 'internal_error');
    expect(broken).toEqual([]);
    return this.bus.from('dev').at(-1);
  }

  async failure(host: Host): Promise<string> {
    return (await host.run('dlq')).out;
  }
}

function whole(dir: string): string {
  return digestOf(dir, (path) => !OF_THREADS.test(path));
}

const FILES = ['one', 'three', 'two'];

it.each<[string, (machine: Machine) => string, string[]?]>([
  [
    'a bare repository',
    ({ root }) => {
      project(join(root, 'app'));
      git(root, 'clone', '--quiet', '--bare', 'app', 'bare.git');
      return join(root, 'bare.git');
    },
  ],
  ['a shallow clone', ({ root }) => cloned(root, '--depth=1')],
  ['a partial clone with its files', ({ root }) => cloned(root, '--filter=blob:none')],
  [
    'one with long names of objects',
    ({ root }) => project(join(root, 'x'), '--object-format=sha256'),
  ],
  [
    'a work tree beside a repository',
    ({ root }) => {
      git(project(join(root, 'app')), 'worktree', 'add', '--quiet', '-b', 'side', '../beside');
      commit(join(root, 'beside'), 'side');
      return join(root, 'beside');
    },
    ['one', 'side', 'three', 'two'],
  ],
  [
    'a commit that is on no branch',
    ({ root }) => {
      const dir = project(join(root, 'app'));
      git(dir, 'checkout', '--quiet', '--detach');
      commit(dir, 'zero');
      return dir;
    },
    [...FILES, 'zero'],
  ],
  [
    'one that shows only a part of its files',
    ({ root }) => {
      const dir = project(join(root, 'app'));
      for (const name of ['a', 'b']) {
        mkdirSync(join(dir, name));
        commit(dir, join(name, 'x'));
      }
      git(dir, 'sparse-checkout', 'set', 'a');
      return dir;
    },
    ['a', 'b', ...FILES],
  ],
  [
    'one with a submodule',
    ({ root }) => {
      const dir = project(join(root, 'app'));
      const lib = project(join(root, 'lib'));
      git(dir, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', lib, 'lib');
      git(dir, 'commit', '--quiet', '--message', 'lib');
      return dir;
    },
    ['lib', ...FILES],
  ],
  [
    'one that borrows its objects',
    ({ root }) => {
      project(join(root, 'other'));
      git(root, 'clone', '--quiet', '--shared', 'other', 'app');
      return join(root, 'app');
    },
  ],
  ['one whose name is hard to write', ({ root }) => project(join(root, `-ä 日本 'q' "d" $(x);y`))],
  [
    'a link to a repository',
    ({ root }) => {
      symlinkSync(project(join(root, 'app')), join(root, 'link'));
      return join(root, 'link');
    },
  ],
  [
    'one with hooks, a monitor and filters',
    ({ root, trace }) => {
      const dir = project(join(root, 'app'));
      commit(dir, '.gitattributes', '* filter=big\n');
      const folder = join(root, 'hooks');
      hooks(folder, trace);
      git(dir, 'config', 'core.hooksPath', folder);
      git(dir, 'config', 'core.fsmonitor', join(folder, 'fsmonitor'));
      git(dir, 'config', 'filter.big.clean', join(folder, 'clean'));
      git(dir, 'config', 'filter.big.smudge', join(folder, 'smudge'));
      git(dir, 'config', 'filter.big.required', 'true');
      return dir;
    },
  ],
  [
    'one that somebody is working in, with a thousand new files',
    ({ root }) => {
      const dir = project(join(root, 'app'));
      for (let n = 0; n < 1000; n++) writeFileSync(join(dir, `new-${String(n)}`), '');
      appendFileSync(join(dir, 'one'), 'changed\n');
      git(dir, 'rm', '--quiet', '--cached', 'two');
      return dir;
    },
  ],
])('a thread works in a copy of %s', { tags: 'long' }, async (_, make, files = FILES) => {
  const machine = new Machine();
  const dir = make(machine);
  const host = await machine.host(dir);
  const before = whole(dir);
  const first = await machine.round(host);
  expect(first?.message.body).toBe(`${files.join(' ')} `);
  const second = await machine.round(host);
  const { name = '', changed, held, commit: last } = second?.message.branch ?? {};
  expect({ changed, held }).toEqual({ changed: 2, held: undefined });
  expect(git(dir, 'rev-parse', name).trim()).toBe(last);
  expect(whole(dir)).toBe(before);
  expect(existsSync(machine.trace)).toBe(false);
  git(dir, 'fsck', '--strict');
  expect((await host.run('worktree', 'prune')).out).toMatch(/^Removed: /);
});

it(
  'of a partial clone without its files no copy is made, until it is completed as the failure says',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const dir = cloned(machine.root, '--filter=blob:none', '--no-checkout');
    const host = await machine.host(dir);
    await machine.round(host);
    const said = await machine.failure(host);
    expect(said).toContain('the content of "one" and 2 more is not there');
    const [, fix = ''] = / complete it with: (git -C \S+ fetch [-a-z ]*);/.exec(said) ?? [];
    expect(git(dir, 'for-each-ref', 'refs/heads/crosstalk')).toBe('');
    expect((await host.run('worktree', 'list', '--json')).out.trim()).toBe('[]');
    execFileSync('sh', ['-c', fix]);
    const letter = /^\S+/.exec(said)?.[0] ?? '';
    expect((await host.run('dlq', '--retry', letter)).code).toBe(0);
    await host.once();
    const { body, branch } = machine.bus.from('dev').at(-1)?.message ?? {};
    expect(body).toBe('one three two ');
    expect(branch?.changed).toBe(1);
  },
);

it.each<[string, (dir: string, root: string) => void, RegExp]>(
  sample([
    [
      'has no commit',
      (dir) => {
        rmSync(join(dir, '.git'), { recursive: true });
        git(dir, 'init', '--quiet');
      },
      /has no commit yet; make one, or name a branch with worktree_from/,
    ],
    [
      'lacks a file that was committed',
      (dir) => {
        const oid = git(dir, 'rev-parse', 'HEAD:one').trim();
        rmSync(join(dir, '.git', 'objects', oid.slice(0, 2), oid.slice(2)));
      },
      /the content of "one" is not there .* check it with: git -C \S+\/app fsck/,
    ],
    [
      'has settings that git does not understand',
      (dir) => {
        appendFileSync(join(dir, '.git', 'config'), '[x\n');
      },
      /no copy of the repository \S+\/app can be made: .*bad config line .*check the repository with: git -C \S+\/app fsck/,
    ],
    [
      'keeps its branches in another format',
      (dir) => {
        writeFileSync(join(dir, '.git', 'HEAD'), 'ref: refs/heads/.invalid\n');
      },
      /in the reftable format, .* git -C \S+\/app refs migrate --ref-format=files/,
    ],
    [
      'was moved away',
      (dir, root) => {
        renameSync(dir, join(root, 'elsewhere'));
      },
      /the repository \S+\/app" does not exist; make it, or change worktree in the host file/,
    ],
  ]),
)('a repository that %s is told with what to do', { tags: 'sampled' }, async (_, spoil, words) => {
  const machine = new Machine();
  const dir = project(join(machine.root, 'app'));
  const host = await machine.host(dir);
  spoil(dir, machine.root);
  await machine.round(host);
  expect(await machine.failure(host)).toMatch(words);
  expect((await host.run('worktree', 'list', '--json')).out.trim()).toBe('[]');
});

it.skipIf(noOtherUser !== '')(
  'a repository of another user is copied once the operator has allowed it, as the failure says',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const dir = project(join(machine.root, 'app'));
    execFileSync('chown', ['-R', '65534', dir]);
    const host = await machine.host(dir);
    await machine.round(host);
    const fix = /, allow git to use it with: (.*)$/m.exec(await machine.failure(host))?.[1];
    execFileSync('sh', ['-c', fix ?? 'false']);
    expect((await machine.round(host))?.message.branch?.changed).toBe(1);
  },
);

it.each([
  [
    'takes away what is being copied',
    `git -C "$app" repack -adq; echo "fatal: failed to copy file" >&2; exit 128`,
  ],
  [
    'moves what was not copied yet to where it was copied already',
    `"$real" "$@" && git -C "$app" repack -adq && for last; do :; done && rm -rf "$last"/.git/objects/[0-9a-f][0-9a-f]; exit`,
  ],
])(
  'a gc in the repository that %s does no harm to a copy',
  { tags: 'long' },
  async (_, meanwhile) => {
    const machine = new Machine();
    const dir = project(join(machine.root, 'app'));
    const host = await machine.host(dir);
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const bin = join(machine.root, 'bin');
    mkdirSync(bin);
    writeFileSync(
      join(bin, 'git'),
      `#!/bin/sh\nreal='${real}'; app='${dir}'; case "$*" in *--no-hardlinks*) PATH=\${PATH#*:}; ${meanwhile};; esac\nexec "$real" "$@"\n`,
      { mode: 0o755 },
    );
    host.env['PATH'] = `${bin}:${process.env['PATH'] ?? ''}`;
    const answer = await machine.round(host);
    expect(answer?.message.body).toBe('one three two ');
    const [{ dir: copy }] = JSON.parse((await host.run('worktree', 'list', '--json')).out) as [
      { dir: string },
    ];
    git(copy, 'fsck', '--strict', '--full');
    expect(git(copy, 'rev-list', '--objects', '--count', 'HEAD').trim()).toBe(
      git(dir, 'rev-list', '--objects', '--count', answer?.message.branch?.name ?? '').trim(),
    );
  },
);

it.each([
  ['a file', false],
  ['the list of packed branches', true],
])(
  'a branch named crosstalk, in %s, is not damaged, and the answer says that it is in the way',
  { tags: 'long' },
  async (_, isPacked) => {
    const machine = new Machine();
    const dir = project(join(machine.root, 'app'));
    git(dir, 'branch', 'crosstalk');
    if (isPacked) git(dir, 'pack-refs', '--all');
    const host = await machine.host(dir);
    const before = digestOf(dir, (path) => !path.startsWith('.git/objects'));
    const answer = await machine.round(host);
    const held = answer?.message.branch?.held ?? '';
    expect(held).toContain('the branch crosstalk of ');
    expect(digestOf(dir, (path) => !path.startsWith('.git/objects'))).toBe(before);
    execFileSync('sh', ['-c', /rename it with: (.*)$/.exec(held)?.[1] ?? 'false']);
    const next = await machine.round(host);
    expect(next?.message.branch?.held).toBeUndefined();
    expect(git(dir, 'rev-parse', next?.message.branch?.name ?? '').trim()).toBe(
      next?.message.branch?.commit,
    );
  },
);

it(
  'a thread goes on when its repository was moved away between two runs and is back',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const dir = project(join(machine.root, 'app'));
    const host = await machine.host(dir);
    await machine.round(host);
    renameSync(dir, `${dir}-moved`);
    const [kept] = JSON.parse((await host.run('worktree', 'list', '--json')).out) as unknown[];
    expect(kept).toMatchObject({ problem: expect.stringContaining(dir) as string });
    expect((await host.run('worktree', 'prune')).out).toContain('Kept: ');
    await machine.round(host);
    expect(await machine.failure(host)).toContain('does not exist; make it, or change worktree');
    renameSync(`${dir}-moved`, dir);
    const answer = await machine.round(host);
    expect(answer?.message.branch).toMatchObject({ changed: 2 });
    git(dir, 'fsck', '--strict');
  },
);

it(
  'what is committed is not lost when the repository was made anew between two runs, and the answer says so',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const dir = project(join(machine.root, 'app'));
    const host = await machine.host(dir);
    await machine.round(host);
    renameSync(dir, `${dir}-old`);
    mkdirSync(dir);
    git(dir, 'init', '--quiet', '--initial-branch=main');
    commit(dir, 'other');
    const before = whole(dir);
    const answer = await machine.round(host);
    expect(answer?.message.body).toMatch(/^f-\d+ one three two/);
    expect(answer?.message.branch?.held).toBeTruthy();
    expect(whole(dir)).toBe(before);
    expect((await host.run('worktree', 'prune')).out).toContain('Kept: ');
  },
);

it.skipIf(!canMount())(
  'a repository that cannot be written to is worked on, and the answer says why its branch is not there',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const dir = project(join(machine.root, 'disk', 'app'));
    const host = await machine.host(dir);
    const before = whole(dir);
    const release = mounted(join(machine.root, 'disk'), 'bind,ro');
    onTestFinished(release);
    const answer = await machine.round(host);
    expect(answer?.message.branch?.held).toMatch(/read-only|EROFS/i);
    expect(answer?.message.branch?.changed).toBe(1);
    expect((await host.run('worktree', 'prune')).out).toContain(
      'has commits that were not fetched',
    );
    release();
    const next = await machine.round(host);
    expect(next?.message.branch).toMatchObject({ changed: 2 });
    expect(next?.message.branch?.held).toBeUndefined();
    expect(whole(dir)).toBe(before);
  },
);
