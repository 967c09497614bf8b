import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Seal } from '../../src/store/seal.ts';
import { Bus, events, type Actors, type Event, type Host, type Stored } from '../support/bus.ts';
import { digestOf } from '../support/folder-digest.ts';
import { git } from '../support/git.ts';
import { recordIn } from '../support/sealed.ts';
import { SECRETS } from '../support/secrets.ts';

type Tiers = Exclude<Actors[string], string>;

/** A machine with a project, whose copies its actors work in. */
class Machine {
  readonly bus = new Bus();
  readonly app = join(this.bus.root, 'app');

  async host(actors: Record<string, Tiers>): Promise<Host> {
    mkdirSync(this.app);
    git(this.app, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(this.app, 'readme'), 'hello\n');
    this.commit('first');
    const host = await this.bus.host('front', actors);
    Object.assign(host.env, {
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    });
    return host;
  }

  commit(subject: string): void {
    git(this.app, 'add', '.');
    git(this.app, '-c', 'user.name=o', '-c', 'user.email=o@example.com', 'commit', '-qm', subject);
  }

  /** What must never change: everything of the original but its objects and the branches of threads. */
  get original(): string {
    return digestOf(
      this.app,
      (path) => !/^\.git\/(objects|refs\/heads\/crosstalk|logs\/refs\/heads\/crosstalk)/.test(path),
    );
  }

  branches(): string[] {
    return git(this.app, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/crosstalk')
      .split('\n')
      .filter(Boolean);
  }

  show(branch: string, path: string): string {
    return git(this.app, 'show', `${branch}:${path}`);
  }
}

async function pass(host: Host): Promise<Event[]> {
  const ran = await host.run('dispatch', '--once', '--host', host.alias);
  expect(ran.code, ran.err).toBe(0);
  return events(ran.err);
}

const named = (log: readonly Event[], name: string): Event[] =>
  log.filter(({ event }) => event === name);
const suffix = (relPath: string): string => /-([0-9a-f]+)\.md$/.exec(relPath)?.[1] ?? '';

interface Listed {
  id: string;
  dir: string;
  [field: string]: unknown;
}

async function list(host: Host): Promise<Listed[]> {
  return JSON.parse((await host.run('worktree', 'list', '--json')).out) as Listed[];
}

const agentLine = (to: string): string => `crosstalk send --to ${to} "a part" > /dev/null`;

/** Writes what it is told to a file of its working directory, commits, and says what was there before. */
const WRITER = `cat > /dev/null; ls | tr '\\n' ' '; echo "$CROSSTALK_DISPATCH_ID" > "f-$$"; git add . && git commit -qm work >/dev/null; true`;

it(
  'three threads at once work in copies of their own, whose branches come into the original',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const dev = { default: { cli: WRITER, worktree: machine.app, count: 3 } };
    const host = await machine.host({ dev });
    const before = machine.original;
    // New tasks of one asker that wait together would be one batch.
    for (const from of ['anna', 'ben', 'carl'])
      await host.run('send', '--to', 'dev', '--from', from, 'hi');
    const sent = machine.bus.messages().map(({ relPath }) => relPath);
    await pass(host);
    const answers = machine.bus.from('dev').map(({ message }) => message);
    expect(answers.map(({ body }) => body.trim())).toEqual(['readme', 'readme', 'readme']);
    expect(machine.branches().sort()).toEqual(
      sent.map((path) => `crosstalk/${suffix(path)}`).sort(),
    );
    for (const { branch } of answers) {
      expect(branch?.changed).toBe(1);
      expect(git(machine.app, 'rev-parse', branch?.name ?? '').trim()).toBe(branch?.commit);
      expect(git(machine.app, 'rev-parse', 'main').trim()).toBe(branch?.base);
      expect(git(machine.app, 'diff', '--name-only', 'main', branch?.name ?? '')).toMatch(
        /^f-\d+\n$/,
      );
    }
    expect(machine.original).toBe(before);
    git(machine.app, 'fsck', '--strict');
    // Nothing in a copy is a file of the original: what is written there changes only the copy.
    const [{ dir }] = (await list(host)) as [Listed];
    expect(git(dir, 'count-objects', '-v')).not.toContain('alternate');
    const objects = join(dir, '.git', 'objects');
    const files = readdirSync(objects, { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    expect(files.length).toBeGreaterThan(3);
    for (const { parentPath, name } of files)
      expect(statSync(join(parentPath, name)).nlink).toBe(1);
  },
);

it('a later answer of a thread finds the copy as it was left', { tags: 'long' }, async () => {
  const machine = new Machine();
  const host = await machine.host({ dev: { default: { cli: WRITER, worktree: machine.app } } });
  const question = await host.send('dev', 'one');
  await pass(host);
  const [first] = machine.bus.from('dev');
  await host.run('reply', first?.relPath ?? '', 'go on');
  await pass(host);
  const last = machine.bus.from('dev').at(-1)?.message;
  expect(last?.body).toMatch(/^f-\d+ readme/);
  expect(last?.branch).toMatchObject({ name: `crosstalk/${suffix(question)}`, changed: 2 });
  expect(machine.branches()).toEqual([`crosstalk/${suffix(question)}`]);
});

it(
  'two actors of one thread, and two runs of one actor at once, do not meet in one copy',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const cli = `cat > /dev/null; pwd; touch "f-$CROSSTALK_DISPATCH_ACTOR"; git add . && git commit -qm "$CROSSTALK_DISPATCH_ACTOR" >/dev/null`;
    const host = await machine.host({
      boss: { default: `cat > /dev/null; ${agentLine('worker')}; ${agentLine('other')}` },
      worker: { default: { cli, worktree: machine.app } },
      other: { default: { cli, worktree: machine.app } },
    });
    const question = await host.send('boss', 'a goal');
    await machine.bus.rest([host]);
    const dirs = ['worker', 'other']
      .flatMap((name) => machine.bus.from(name))
      .map(({ message }) => message.body.trim());
    expect(new Set(dirs).size).toBe(2);
    expect(machine.branches().length).toBe(2);
    const branches = ['worker', 'other']
      .flatMap((name) => machine.bus.from(name))
      .map(({ message }) => message.branch?.name);
    expect(new Set(branches).size).toBe(2);
    expect(question).not.toBe('');
  },
);

it(
  'what is not committed stays in the copy, and the answer tells of no branch',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const cli = 'cat > /dev/null; echo x >> readme; echo y > new; echo done';
    const host = await machine.host({ dev: { default: { cli, worktree: machine.app } } });
    await host.send('dev', 'one');
    await pass(host);
    expect(machine.bus.from('dev')[0]?.message.branch).toBeUndefined();
    expect(machine.branches()).toEqual([]);
    const [listed] = await list(host);
    expect(listed).toMatchObject({
      actor: 'dev',
      commits: 0,
      uncommitted: 2,
      fetched: true,
      in_use: false,
    });
    const refused = await host.run('worktree', 'remove', listed?.id ?? '');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('has changes in 2 files that are in no commit');
    const pruned = await host.run('worktree', 'prune');
    expect(pruned.out).toContain(`Kept: ${listed?.id ?? ''}, it has changes in 2 files`);
    expect((await host.run('worktree', 'remove', listed?.id ?? '', '--force')).code).toBe(0);
    expect(existsSync(listed?.dir ?? '')).toBe(false);
    expect(await list(host)).toEqual([]);
  },
);

it('what a run commits elsewhere than on its branch stays in the copy, and the answer names it; empty submodules are told', async () => {
  const machine = new Machine();
  const cli =
    'grep submodules; git switch -qc other; echo x > new; git add new; git commit -qm work';
  const host = await machine.host({ dev: { default: { cli, worktree: machine.app } } });
  mkdirSync(join(machine.app, 'lib'));
  git(machine.app, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},lib`);
  machine.commit('a submodule');
  const question = await host.send('dev', 'one');
  await pass(host);
  const { body, branch } = machine.bus.from('dev')[0]?.message ?? {};
  expect(body).toContain('The folders of its submodules are empty: lib. Fill those that you need');
  const [listed] = await list(host);
  expect(branch).toMatchObject({ name: `crosstalk/${suffix(question)}`, changed: 0 });
  expect(branch?.held).toBe(`not fetched: other, in the copy ${listed?.dir ?? ''}`);
  expect(listed).toMatchObject({ uncommitted: 0, others: ['other'] });
  const pruned = await host.run('worktree', 'prune');
  expect(pruned.out).toBe(
    `Kept: ${listed?.id ?? ''}, it has commits on other that were not fetched\n`,
  );
  expect((await host.run('worktree', 'remove', listed?.id ?? '')).err).toContain(
    'commits on other',
  );
  expect(existsSync(listed?.dir ?? '')).toBe(true);
});

it(
  'prune removes what is fetched and clean, and the thread goes on from its branch',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const host = await machine.host({ dev: { default: { cli: WRITER, worktree: machine.app } } });
    await host.send('dev', 'one');
    await pass(host);
    const [first] = machine.bus.from('dev');
    const shown = await host.run('worktree', 'diff', first?.relPath ?? '');
    expect(shown.out).toMatch(/^diff --git a\/f-/);
    expect((await host.run('worktree', 'show', first?.message.branch?.name ?? '')).out).toMatch(
      /commits +1/,
    );
    const pruned = await host.run('worktree', 'prune');
    expect(pruned.out).toMatch(/^Removed: /);
    expect(readdirSync(join(host.state, 'worktrees'), { recursive: true }).length).toBeLessThan(2);
    await host.run('reply', first?.relPath ?? '', 'go on');
    await pass(host);
    expect(machine.bus.from('dev').at(-1)?.message.body).toMatch(/^f-\d+ readme/);
    expect(machine.branches()).toHaveLength(1);
    expect(
      git(machine.app, 'rev-list', '--count', 'main..' + (machine.branches()[0] ?? '')).trim(),
    ).toBe('2');
  },
);

it('a branch that somebody works on in the original is left alone, and the answer says so', async () => {
  const machine = new Machine();
  const host = await machine.host({ dev: { default: { cli: WRITER, worktree: machine.app } } });
  await host.send('dev', 'one');
  await pass(host);
  const [branch = ''] = machine.branches();
  git(machine.app, 'checkout', '--quiet', branch);
  const before = machine.original;
  const at = git(machine.app, 'rev-parse', branch);
  const [first] = machine.bus.from('dev');
  await host.run('reply', first?.relPath ?? '', 'two');
  const log = await pass(host);
  expect(named(log, 'branch_held')).toHaveLength(1);
  expect(git(machine.app, 'rev-parse', branch)).toBe(at);
  expect(machine.original).toBe(before);
  const second = machine.bus.from('dev').at(-1);
  expect(second?.message.branch?.held).toContain(
    `the branch ${branch} is checked out in ${machine.app}`,
  );
  expect(git(machine.app, 'cat-file', '-t', second?.message.branch?.commit ?? '').trim()).toBe(
    'commit',
  );
  const kept = await host.run('worktree', 'prune');
  expect(kept.out).toContain('has commits that were not fetched');

  // A commit of the operator is not lost either; one that only adds to what was fetched lets it go on.
  git(machine.app, 'checkout', '--quiet', 'main');
  await host.run('reply', second?.relPath ?? '', 'three');
  await pass(host);
  expect(git(machine.app, 'rev-list', '--count', `main..${branch}`).trim()).toBe('3');
  git(machine.app, 'checkout', '--quiet', branch);
  writeFileSync(join(machine.app, 'mine'), 'x');
  machine.commit('mine');
  git(machine.app, 'checkout', '--quiet', 'main');
  await host.run('reply', machine.bus.from('dev').at(-1)?.relPath ?? '', 'four');
  await pass(host);
  expect(machine.bus.from('dev').at(-1)?.message.branch?.held).toContain('was moved in');
  expect(git(machine.app, 'log', '-1', '--format=%s', branch).trim()).toBe('mine');
});

it.each([
  ['rebases', ['rebase', '--quiet', '--exec', 'false', 'HEAD~1'], ['rebase', '--abort']],
  ['bisects', ['bisect', 'start', 'HEAD', 'main'], ['bisect', 'reset']],
])(
  'a branch that somebody %s in the original is left alone until that is over',
  { tags: 'long' },
  async (_, begin, end) => {
    const machine = new Machine();
    const host = await machine.host({ dev: { default: { cli: WRITER, worktree: machine.app } } });
    await host.send('dev', 'one');
    await pass(host);
    const goOn = async (): Promise<Stored | undefined> => {
      await host.run('reply', machine.bus.from('dev').at(-1)?.relPath ?? '', 'go on');
      await pass(host);
      return machine.bus.from('dev').at(-1);
    };
    await goOn();
    const [branch = ''] = machine.branches();
    git(machine.app, 'checkout', '--quiet', branch);
    const at = git(machine.app, 'rev-parse', branch);
    // The rebase stops with a failure.
    spawnSync('git', ['-C', machine.app, ...begin], {
      env: { ...process.env, GIT_COMMITTER_NAME: 'o', GIT_COMMITTER_EMAIL: 'o@example.com' },
    });
    git(machine.app, 'checkout', '--quiet', '--detach');
    expect((await goOn())?.message.branch?.held).toContain('is checked out in');
    expect(git(machine.app, 'rev-parse', branch)).toBe(at);
    git(machine.app, ...end);
    git(machine.app, 'checkout', '--quiet', 'main');
    expect((await goOn())?.message.branch?.held).toBeUndefined();
  },
);

it('the command before the first run runs once in a new copy, and one that fails is told', async () => {
  const machine = new Machine();
  const before = `echo ran >> ${machine.bus.root}/ran; test ! -e ${machine.bus.root}/broken && touch prepared || { echo no registry >&2; exit 7; }`;
  const cli = 'cat > /dev/null; ls';
  const dev = { default: { cli, worktree: machine.app, before, retry_delay: '20ms' } };
  const host = await machine.host({ dev });
  writeFileSync(join(machine.bus.root, 'broken'), '');
  await host.send('dev', 'one');
  const running = host.start();
  const failed = await running.saw('dispatch_failed');
  expect(failed).toMatchObject({ reason: 'before_failed' });
  rmSync(join(machine.bus.root, 'broken'));
  await running.saw('dispatch_done');
  const [answer] = machine.bus.from('dev');
  expect(answer?.message.body).toBe('prepared\nreadme\n');
  await host.run('reply', answer?.relPath ?? '', 'again');
  await expect.poll(() => machine.bus.from('dev').length, { timeout: 120_000 }).toBe(2);
  expect(
    readFileSync(join(machine.bus.root, 'ran'), 'utf8').match(/ran/g)?.length,
  ).toBeLessThanOrEqual(3);
  const ran = readFileSync(join(machine.bus.root, 'ran'), 'utf8');
  await host.run('reply', machine.bus.from('dev').at(-1)?.relPath ?? '', 'and again');
  await expect.poll(() => machine.bus.from('dev').length, { timeout: 120_000 }).toBe(3);
  expect(readFileSync(join(machine.bus.root, 'ran'), 'utf8')).toBe(ran);
});

it('worktree_push pushes the branch of a thread to a remote of the original, and never over somebody’s commit', async () => {
  const machine = new Machine();
  const dev = {
    default: { cli: WRITER, worktree: machine.app, worktree_push: 'forge', worktree_from: 'main' },
  };
  const host = await machine.host({ dev });
  const forge = join(machine.bus.root, 'forge.git');
  git(machine.bus.root, 'init', '--quiet', '--bare', 'forge.git');
  git(machine.app, 'remote', 'add', 'forge', '../forge.git');
  const question = await host.send('dev', 'one');
  // Somebody has a branch of the same name there before the first push.
  const other = await host.send('dev', 'another', '--from', 'anna');
  const theirs = `refs/heads/crosstalk/${suffix(other)}`;
  git(machine.app, 'push', '--quiet', 'forge', `main:${theirs}`);
  await pass(host);
  const answerTo = (path: string): Stored | undefined =>
    machine.bus.from('dev').find(({ message }) => message.re.includes(path));
  expect(answerTo(other)?.message.branch?.held).toContain('could not be pushed to forge');
  expect(git(forge, 'rev-parse', theirs)).toBe(git(machine.app, 'rev-parse', 'main'));
  const first = answerTo(question);
  const { name = '', commit = '' } = first?.message.branch ?? {};
  expect(git(forge, 'rev-parse', name).trim()).toBe(commit);
  git(forge, 'update-ref', `refs/heads/${name}`, git(machine.app, 'rev-parse', 'main').trim());
  await host.run('reply', first?.relPath ?? '', 'two');
  await pass(host);
  const second = machine.bus.from('dev').at(-1)?.message.branch;
  expect(second?.held).toContain('could not be pushed to forge');
  expect(git(machine.app, 'rev-parse', name).trim()).toBe(second?.commit);
  expect(git(forge, 'rev-parse', name)).toBe(git(machine.app, 'rev-parse', 'main'));
});

it(
  'a branch that brings a secret along is not pushed to a remote, until it does not or a person pushes it',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const secret = SECRETS['GitHub token']?.(7) ?? '';
    const folder = join(machine.bus.root, 'wanted');
    mkdirSync(folder);
    // What is to be in the file that it commits: each line a commit.
    const cli = `cat > /dev/null; while read -r line; do echo "$line" > settings; git add . && git commit -qm "$line" > /dev/null; done < ${folder}/lines; echo done`;
    const dev = { default: { cli, worktree: machine.app, worktree_push: 'forge' } };
    const host = await machine.host({ dev });
    const forge = join(machine.bus.root, 'forge.git');
    git(machine.bus.root, 'init', '--quiet', '--bare', 'forge.git');
    git(machine.app, 'remote', 'add', 'forge', '../forge.git');
    const round = async (...lines: string[]): Promise<Stored | undefined> => {
      writeFileSync(join(folder, 'lines'), lines.map((line) => `${line}\n`).join(''));
      const last = machine.bus.from('dev').at(-1)?.relPath;
      if (last === undefined) await host.send('dev', 'go');
      else expect((await host.run('reply', last, 'go on')).code).toBe(0);
      await pass(host);
      return machine.bus.from('dev').at(-1);
    };
    const pushed = (): string => git(forge, 'for-each-ref', '--format=%(objectname)').trim();
    const fine = await round('a plain line', '- as in a list', '+ and added');
    expect(fine?.message.branch?.held).toBeUndefined();
    expect(pushed()).toBe(fine?.message.branch?.commit);

    // A later commit takes it out again; whoever can fetch can read it all the same.
    const before = pushed();
    const held = await round(`token: ${secret}`, 'a plain line');
    const { name = '', held: why = '', commit } = held?.message.branch ?? {};
    expect(why).toContain(`the branch ${name} is not pushed to forge`);
    expect(why).toContain('a GitHub token in settings');
    expect(why).toContain('a GitHub token in a commit message');
    expect(JSON.stringify(held)).not.toContain(secret);
    expect(git(machine.app, 'rev-parse', name).trim()).toBe(commit);
    expect(pushed()).toBe(before);
    expect((await round('another line'))?.message.branch?.held).toContain('is not pushed to forge');
    expect(pushed()).toBe(before);

    git(host.dir, 'config', 'crosstalk.scanSecrets', 'false');
    const open = await round('a last line');
    expect(open?.message.branch?.held).toBeUndefined();
    expect(pushed()).toBe(open?.message.branch?.commit);
    // What is there already is not searched again, and what is removed is not what is added.
    git(host.dir, 'config', '--unset', 'crosstalk.scanSecrets');
    expect((await round('the very last'))?.message.branch?.held).toBeUndefined();
  },
);

it(
  'a secret in commits that a remote does not have yet, or in a file of another encoding, is not pushed',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const secret = SECRETS['GitHub token']?.(8) ?? '';
    const file = join(machine.bus.root, 'utf16');
    writeFileSync(file, 'a plain line\n', 'utf16le');
    const cli = `cat > /dev/null; cp ${file} settings; date >> readme; git add . && git commit -qm work > /dev/null; echo done`;
    const dev = { default: { cli, worktree: machine.app, worktree_push: 'forge' } };
    const host = await machine.host({ dev });
    const forge = join(machine.bus.root, 'forge.git');
    git(machine.bus.root, 'init', '--quiet', '--bare', '--initial-branch=main', 'forge.git');
    git(machine.app, 'remote', 'add', 'forge', '../forge.git');
    writeFileSync(join(machine.app, 'mine'), secret);
    machine.commit('not for others');
    writeFileSync(join(machine.app, 'mine'), 'nothing');
    machine.commit('taken out again');
    const heldOf = async (): Promise<string> => {
      await host.run('send', '--to', 'dev', 'go');
      await pass(host);
      const held = machine.bus.from('dev').at(-1)?.message.branch?.held ?? '';
      expect(held).not.toContain(secret);
      return held;
    };
    expect(await heldOf()).toContain('a GitHub token in mine');
    expect(git(forge, 'for-each-ref')).toBe('');

    // Once a person has pushed it, it is not what a run brings along, also where the remote has gone on since.
    git(machine.app, 'push', '--quiet', 'forge', 'main');
    expect(await heldOf()).toBe('');
    const other = join(machine.bus.root, 'other');
    git(machine.bus.root, 'clone', '--quiet', 'forge.git', 'other');
    git(other, 'commit', '--quiet', '--allow-empty', '--message', 'gone on');
    git(other, 'push', '--quiet', 'origin', 'HEAD:main');
    expect(await heldOf()).toBe('');

    writeFileSync(file, `token=${secret}\n`, 'utf16le');
    expect(await heldOf()).toContain('a GitHub token in settings');
  },
);

it(
  'of what was never made nothing is kept, and what was made half is removed after a day',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const dev = { cli: WRITER, worktree: machine.app, attempts: 1, before: 'exit 3' };
    const host = await machine.host({
      dev: { default: dev },
      lost: { default: { ...dev, worktree_from: 'gone' } },
    });
    await host.send('lost', 'one');
    await host.send('dev', 'two');
    await pass(host);
    const [listed, ...others] = await list(host);
    expect(others).toEqual([]);
    expect(listed).toMatchObject({ actor: 'dev', unfinished: true });
    expect((await host.run('worktree', 'prune')).out).toContain('Kept: ');
    expect((await host.run('worktree', 'remove', listed?.id ?? '')).code).toBe(1);
    const path = `${listed?.dir ?? ''}.json`;
    const used = new Date(Date.now() - 2 * 86_400_000).toISOString();
    const seal = Seal.of(join(host.state, 'worktrees'));
    writeFileSync(path, seal.close(listed?.id ?? '', { ...recordIn(path), used }));
    expect((await host.run('worktree', 'prune')).out).toContain('Removed: ');
    expect(existsSync(listed?.dir ?? '')).toBe(false);
  },
);

it('what cannot be copied fails with the reason, and options that exclude each other are refused', async () => {
  const machine = new Machine();
  const host = await machine.host({
    dev: { default: { cli: WRITER, worktree: machine.app, attempts: 1 } },
  });
  const both = await host.run('actor', 'set', 'dev', `workdir=${machine.bus.root}`);
  expect(both.code).toBe(2);
  expect(both.err).toContain('both workdir and worktree');
  const anew = join(machine.bus.root, 'anew');
  const places = ['--workdir', machine.app, '--worktree', machine.app];
  const made = await host.run('init', anew, '--alias', 'x', '--cli', 'cat', ...places);
  expect(made.code).toBe(2);
  expect(made.err).toMatch(/^crosstalk init: --workdir and --worktree were given; [^\n]*\n$/m);
  expect(existsSync(anew)).toBe(false);
  expect((await host.run('actor', 'set', 'dev', 'worktree=')).code).toBe(0);
  const alone = await host.run('actor', 'set', 'dev', 'before=npm ci');
  expect(alone.code).toBe(2);
  expect(alone.err).toContain('has no effect without');
  mkdirSync(join(machine.bus.root, 'plain'));
  const plain = await host.run('actor', 'set', 'dev', `worktree=${machine.bus.root}/plain`);
  expect(plain.code).toBe(2);
  expect(plain.err).toContain('not the top of a git repository');
  expect(
    (await host.run('actor', 'set', 'dev', `worktree=${machine.app}`, 'worktree_from=gone')).code,
  ).toBe(0);
  await host.send('dev', 'one');
  await pass(host);
  expect((await host.run('dlq')).out).toContain('has no branch or tag "gone"');
});

it('a commit of many files comes into the original whole', { tags: 'long' }, async () => {
  const machine = new Machine();
  const cli =
    'cat > /dev/null; mkdir many; for n in $(seq 150); do echo $n > many/$n; done; git add . && git commit -qm many > /dev/null; echo done';
  const host = await machine.host({ dev: { default: { cli, worktree: machine.app } } });
  await host.send('dev', 'one');
  await pass(host);
  expect(machine.bus.from('dev')[0]?.message.branch?.changed).toBe(150);
  const [branch = ''] = machine.branches();
  expect(machine.show(branch, 'many/150')).toBe('150\n');
  git(machine.app, 'fsck', '--strict', '--full');
});

it(
  'a copy whose making was cut short is made anew, and one that was removed by hand too',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const host = await machine.host({ dev: { default: { cli: WRITER, worktree: machine.app } } });
    await host.send('dev', 'one');
    await pass(host);
    const [listed] = await list(host);
    const dir = listed?.dir ?? '';
    const seal = Seal.of(join(host.state, 'worktrees'));
    const record = recordIn(`${dir}.json`);
    const half = { ...record, ready: false };
    writeFileSync(`${dir}.json`, seal.close(listed?.id ?? '', half));
    mkdirSync(`${dir}.making`);
    writeFileSync(join(dir, 'half'), 'x');
    await host.run('reply', machine.bus.from('dev').at(-1)?.relPath ?? '', 'two');
    await pass(host);
    expect(machine.bus.from('dev').at(-1)?.message.body).toMatch(/^f-\d+ readme ?$/m);
    rmSync(dir, { recursive: true });
    await host.run('reply', machine.bus.from('dev').at(-1)?.relPath ?? '', 'three');
    await pass(host);
    const last = machine.bus.from('dev').at(-1)?.message;
    expect(last?.body).toMatch(/^f-\d+ f-\d+ readme ?$/m);
    expect(last?.branch).toMatchObject({ changed: 3, base: record['base'] });
  },
);

it('a session with an actor works in a copy of its own, whose commits come into the original', async () => {
  const machine = new Machine();
  const cli = 'git commit --allow-empty -qm session; pwd';
  const host = await machine.host({
    dev: { default: { cli, worktree: machine.app, before: 'touch ready' } },
  });
  const opened = await host.run('open', '--actor', 'dev');
  expect(opened.code, opened.err).toBe(0);
  expect(opened.err).toContain('the commits of this session are on the branch crosstalk/session');
  expect(git(machine.app, 'log', '-1', '--format=%s', 'crosstalk/session').trim()).toBe('session');
});
