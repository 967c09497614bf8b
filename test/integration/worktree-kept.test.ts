import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { lookAtWorktree, type ListedWorktree } from '../../src/bus/worktrees.ts';
import { sweepWorktrees } from '../../src/dispatcher/workspace-sweep.ts';
import { Worktrees } from '../../src/state/worktrees.ts';
import { makeTree } from '../../src/transport/worktree/make.ts';
import { findSource } from '../../src/transport/worktree/source.ts';
import { scratch } from '../support/bus.ts';
import { sample } from '../support/form.ts';
import { git } from '../support/git.ts';

const root = scratch();
const [app, lib] = [join(root, 'a "p": ä'), join(root, 'lib')];
const env = {
  ...process.env,
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
  // Submodules are fetched from a folder here.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'protocol.file.allow',
  GIT_CONFIG_VALUE_0: 'always',
};

/** A project that ignores a folder, with the submodules `one` and `two`. */
beforeAll(() => {
  for (const dir of [lib, app]) {
    mkdirSync(dir);
    git(dir, 'init', '--quiet', '--initial-branch=main');
    for (const name of ['readme', 'notes']) writeFileSync(join(dir, name), 'hello\n');
    writeFileSync(join(dir, '.gitignore'), 'cache/\n');
    git(dir, 'add', '.');
    git(dir, 'commit', '--quiet', '--message', 'first');
  }
  for (const name of ['one', 'two'])
    git(app, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '../lib', name);
  git(app, 'commit', '--quiet', '--message', 'submodules');
});

interface Kept {
  listed: ListedWorktree;
  isThere: boolean;
}

let serial = 0;

/** What becomes of a copy that no run has used for long, after a run did something in it, and the operator something. */
async function after(run: string, operator = ''): Promise<Kept> {
  const worktrees = new Worktrees(join(root, 'state', String(serial++)));
  const wanted = { actor: 'dev', channel: 'c', root: 'r', source: app, thread: '0a', name: 'app' };
  const made = await worktrees.open(wanted, new Date(1000));
  const { branch } = made.record;
  const source = await findSource(app);
  const to = { actor: 'dev', dir: made.dir, branch };
  const { base } = await makeTree(env, source, to, new AbortController().signal);
  const worktree = await worktrees.note(made, { base, ready: true });
  worktrees.leave(worktree);
  const sh = (cwd: string, script: string): unknown =>
    execFileSync('sh', ['-ec', script], {
      cwd,
      env: { ...env, APP: app, LIB: lib, COPY: made.dir },
    });
  sh(made.dir, run);
  sh(app, operator);
  const listed = await lookAtWorktree(env, worktree, { inUse: false });
  const sessions = { warm: { keeps: () => false } };
  const now = (): Date => new Date();
  await sweepWorktrees({ worktrees, sessions, env, log: () => undefined, now }, now());
  return { listed, isThere: existsSync(made.dir) };
}

// Of its own in each copy: two that are made in one second would be one commit, which another copy may have brought.
const COMMIT = 'echo "$COPY" > new; git add new; git commit -qm work';
const FILL = 'git submodule --quiet update --init one';

it.each([
  ['a commit on another branch', `git switch -qc other; ${COMMIT}; git switch -q -`, ['other']],
  ['a stash', `${COMMIT}; git reset -q --soft HEAD~; git stash -q`, ['stash']],
  [
    'a commit in a submodule',
    `${FILL}; cd one; ${COMMIT}; git branch mine; git checkout -q HEAD~`,
    'one',
  ],
  [
    'a change that is assumed to be none',
    'git update-index --assume-unchanged readme; echo x > readme',
    1,
  ],
] as [string, string, string[] | string | number][])(
  'a copy with %s is kept, and what is in it is named',
  async (_, run, lost) => {
    const { listed, isThere } = await after(run);
    expect(isThere).toBe(true);
    expect(listed.problem).toBeUndefined();
    if (typeof lost === 'number') expect(listed.uncommitted).toBe(lost);
    else if (typeof lost === 'string') expect(listed.repositories).toEqual([lost]);
    else expect(listed.others).toEqual(lost);
  },
);

const BACK = 'git checkout -q crosstalk/0a';

it.each(
  sample([
    ['a commit on a tag', `${COMMIT}; git tag mine; git reset -q --hard HEAD~`, 'tags/mine'],
    ['a tag with a text', 'git tag -am text mine', 'tags/mine'],
    ['a commit on no branch', `git checkout -q --detach; ${COMMIT}`, 'HEAD'],
    ['a note', 'git notes add -m note', 'notes/commits'],
    [
      'an older stash',
      `echo x > readme; git stash -q; echo y > readme; git stash -q; git update-ref refs/stash main`,
      'stash@{1}',
    ],
    ['a packed branch', `git switch -qc other; ${COMMIT}; ${BACK}; git pack-refs --all`, 'other'],
    [
      'a branch that was pushed to a repository in the copy',
      `git init -q --bare cache/hub.git; git remote add hub cache/hub.git; git switch -qc other; ${COMMIT}; git push -q hub other; ${BACK}`,
      'other',
    ],
    [
      'what a rebase has set aside',
      'echo x > readme; git rebase -q --autostash --exec false HEAD~ || true',
      'rebase-merge/autostash',
    ],
    [
      'a commit in a linked work tree',
      `git worktree add -q --detach cache/l; cd cache/l; ${COMMIT}`,
      'HEAD',
    ],
  ] as [string, string, string][]),
)('a copy with %s is kept, and the ref is named', { tags: 'sampled' }, async (_, run, name) => {
  const { listed, isThere } = await after(run);
  expect(isThere).toBe(true);
  expect(listed.others?.join()).toContain(name);
});

it.each(
  sample([
    ['a skipped change', 'git update-index --skip-worktree readme; echo x > readme', 1],
    [
      'a change that is both',
      'git update-index --skip-worktree readme; git update-index --assume-unchanged readme; echo x > readme',
      1,
    ],
    ['files in the folder of an empty submodule', 'echo x > two/x', 1],
    ['a file in the place of a submodule', 'rmdir two; echo x > two', 1],
    [
      'a submodule at another commit',
      `${FILL}; cd one; git checkout -q --orphan x; git commit -qm x; git push -q "$LIB" x; git fetch -q origin`,
      1,
    ],
    [
      'a submodule that is added at another commit',
      `${FILL}; git update-index --cacheinfo "160000,$(git rev-parse HEAD),two"`,
      1,
    ],
    ['a file that can be executed now', 'chmod +x readme', 1],
  ] as [string, string, number][]),
)('a copy with %s is kept, and counted', { tags: 'sampled' }, async (_, run, count) => {
  const { listed, isThere } = await after(run);
  expect(isThere).toBe(true);
  expect(listed.uncommitted).toBe(count);
});

it.each(
  sample([
    ['a change in a submodule', `${FILL}; echo x > one/readme`, 'one'],
    [
      'a hidden change in a submodule',
      `${FILL}; cd one; git update-index --assume-unchanged readme; echo x > readme`,
      'one',
    ],
    [
      'a submodule without files',
      `${FILL}; (cd one; ${COMMIT}; git branch mine; git checkout -q HEAD~); git submodule --quiet deinit one`,
      '.git/modules/one',
    ],
    ['a repository in an ignored folder', `git init -q cache/r; cd cache/r; ${COMMIT}`, 'cache/r'],
    ['a repository without a commit', 'git init -q cache/r; touch cache/r/x', 'cache/r'],
    [
      'a repository that is not sound',
      'git init -q cache/r; mkfifo cache/r/.git/packed-refs',
      'cache/r',
    ],
    ['a repository that is hardly there', 'mkdir -p cache/r/.git/objects', 'cache/r'],
    [
      'a repository that is added as it is',
      `git init -q r; (cd r; ${COMMIT}); git add r 2>&1; git commit -qm r`,
      'r',
    ],
    [
      'a change in a linked work tree',
      'git worktree add -q --detach cache/l; echo x > cache/l/readme',
      'cache/l',
    ],
    [
      'a linked work tree elsewhere',
      'git worktree add -q --detach "$COPY.linked"',
      '../app.linked',
    ],
  ] as [string, string, string][]),
)(
  'a copy with %s is kept, and its folder is named',
  { tags: 'sampled' },
  async (_, run, folder) => {
    const { listed, isThere } = await after(run);
    expect(isThere).toBe(true);
    expect(listed.repositories).toEqual([folder]);
  },
);

it.each(
  sample([
    ['a branch of the same commit, and a tag', 'git branch other; git tag mine', ''],
    ['another branch checked out', 'git checkout -q -b other', ''],
    [
      'what its operator fetched',
      `git switch -qc other; ${COMMIT}; ${BACK}`,
      'git fetch -q "$COPY" other:theirs; git branch -qf theirs "$(git commit-tree -p theirs -m on theirs^{tree})"',
    ],
    [
      'a branch that the repository has no more',
      'git rev-parse origin/gone',
      'git branch -qD gone',
    ],
    ['filled submodules', `${FILL}; git submodule --quiet update --init`, ''],
    ['a clone in an ignored folder', 'git clone -q "$LIB" cache/lib', ''],
    [
      'a clone without its history in an ignored folder',
      'git clone -q --depth 1 "file://$LIB" cache/lib; cd cache/lib; git checkout -q --detach',
      '',
    ],
    ['most files left out', 'git sparse-checkout set --no-cone /readme', ''],
    [
      'a linked work tree that is gone',
      'git worktree add -q --detach "$COPY.linked"; rm -r "$COPY.linked"',
      '',
    ],
  ] as [string, string, string][]),
)('a copy with %s is removed', { tags: 'sampled' }, async (_, run, operator) => {
  git(app, 'branch', '--force', 'gone', git(app, 'commit-tree', '-m', 'x', 'HEAD^{tree}').trim());
  const { listed, isThere } = await after(run, operator);
  expect(listed).toMatchObject({ uncommitted: 0, fetched: true });
  expect(listed).not.toHaveProperty('others');
  expect(listed).not.toHaveProperty('repositories');
  expect(isThere).toBe(false);
});
