import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { besideIdle } from '../support/stderr.ts';
import { Bus, scratch } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { rowsIn } from '../support/rows.ts';

/** A machine whose state is in the default place. */
class Machine {
  readonly bus = new Bus();
  readonly home = scratch();
  dir = join(this.bus.root, 'team');

  run(...argv: string[]): Promise<Ran> {
    const standalone = argv[0] === 'init';
    return command(argv, {
      cwd: standalone ? this.bus.root : this.dir,
      env: { XDG_STATE_HOME: this.home },
    });
  }

  async make(): Promise<void> {
    const { code, err } = await this.run(
      ...['init', 'team', '--remote', this.bus.hub, '--alias', 'here', '--cli', 'echo approved'],
    );
    if (code !== 0) throw new Error(err);
  }

  /** The state directories of transports. */
  states(): string[] {
    const base = join(this.home, 'crosstalk');
    return readdirSync(base).filter((name) => existsSync(join(base, name, 'git')));
  }
}

it('another spelling of the remote’s address makes no new state', async () => {
  const machine = new Machine();
  await machine.make();
  const before = machine.states();
  git(machine.dir, 'remote', 'set-url', 'origin', `file://${machine.bus.hub}`);
  await machine.run('status');
  expect(machine.states()).toEqual(before);
  expect(before).toHaveLength(1);
});

it('a moved folder keeps its state, and what waits in its outbox', async () => {
  const machine = new Machine();
  await machine.make();
  machine.bus.unplug();
  expect((await machine.run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Queued: /);
  machine.bus.plug();
  const moved = join(machine.bus.root, 'moved');
  renameSync(machine.dir, moved);
  machine.dir = moved;
  expect((await machine.run('sync')).out).toContain('Pushed: 1');
  expect(machine.states()).toHaveLength(1);
});

it('a run that deletes the id of its clone makes no first start out of it', async () => {
  const machine = new Machine();
  await machine.make();
  const before = machine.states();
  rmSync(join(machine.dir, '.git', 'crosstalk'), { recursive: true });
  git(machine.dir, 'config', 'core.sshCommand', 'false');
  expect((await machine.run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Sent: /);
  expect(machine.states()).toEqual(before);
});

it('a copy of a clone gets a state of its own, and the state of the first is left alone', async () => {
  const machine = new Machine();
  await machine.make();
  const first = machine.dir;
  machine.dir = join(machine.bus.root, 'copy');
  cpSync(first, machine.dir, { recursive: true });
  await machine.run('status');
  const [one, two] = [first, machine.dir].map((dir) =>
    readFileSync(join(dir, '.git', 'crosstalk', 'id'), 'utf8'),
  );
  expect(one).not.toBe(two);
  expect(machine.states()).toHaveLength(2);
});

it(
  'a run that puts another git directory in the place of its clone’s makes no first start out of it',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    await machine.make();
    const before = machine.states();
    const [dotGit, aside] = ['.git', '.aside'].map((name) => join(machine.dir, name)) as [
      string,
      string,
    ];
    const settings: [string, string][] = [
      ['core.sshCommand', 'false'],
      ['remote.origin.url', 'ssh://localhost/elsewhere'],
    ];
    // A copy without the marks, at the same path.
    cpSync(dotGit, aside, { recursive: true });
    renameSync(dotGit, join(machine.bus.root, 'first'));
    rmSync(join(aside, 'crosstalk'), { recursive: true });
    renameSync(aside, dotGit);
    for (const [name, value] of settings.slice(0, 1)) git(machine.dir, 'config', name, value);
    expect((await machine.run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Sent: /);
    expect((await machine.run('host', 'show')).out).toContain('core.sshcommand');
    expect(machine.states()).toEqual(before);
    // And a copy with the mark of another transport, outside of the work tree's own folder.
    renameSync(dotGit, aside);
    rmSync(join(aside, 'crosstalk'), { recursive: true });
    writeFileSync(dotGit, `gitdir: ${aside}\n`);
    for (const [name, value] of settings) git(machine.dir, 'config', name, value);
    const shown = await machine.run('host', 'show');
    expect(shown.out).toMatch(/^[0-9a-f]{12} {2}concierge\.default$/m);
    expect(shown.out).toMatch(/^[0-9a-f]{12} {2}core\.sshcommand$/m);
  },
);

it('a run that writes another id into its clone does not part it from its state', async () => {
  const machine = new Machine();
  await machine.make();
  machine.bus.unplug();
  expect((await machine.run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Queued: /);
  machine.bus.plug();
  for (const id of ['elsewhere', 'turns']) {
    writeFileSync(join(machine.dir, '.git', 'crosstalk', 'id'), `${id}\n`);
    expect((await machine.run('host', 'show')).out).not.toContain('Held');
  }
  expect((await machine.run('sync')).out).toContain('Pushed: 1');
  expect(machine.states()).toHaveLength(1);
});

it(
  'a clone that is made again at the same path goes on with what was approved there',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    await machine.make();
    rmSync(machine.dir, { recursive: true });
    git(machine.bus.root, 'clone', '--quiet', machine.bus.hub, machine.dir);
    expect((await machine.run('host', 'show')).out).not.toContain('Held');
    expect((await machine.run('sync')).out).toContain('Pushed: 0');
    // The clone was told which files its checkout shows, and is read again.
    expect((await machine.run('host', 'show')).out).not.toContain('Held');
    expect((await machine.run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Sent: /);
    expect(machine.states()).toHaveLength(1);
  },
);

it('a folder for the state that holds somebody’s own folder “git” is refused, and not touched', async () => {
  const machine = new Machine();
  await machine.make();
  const given = join(machine.bus.root, 'srv');
  const own = join(given, 'git', 'project', 'README');
  mkdirSync(join(own, '..'), { recursive: true });
  writeFileSync(own, 'mine\n');
  for (let tries = 0; tries < 2; tries++) {
    const { code, err } = await command(['status'], {
      cwd: machine.dir,
      env: { CROSSTALK_STATE_DIR: given },
    });
    expect([code, err]).toEqual([1, expect.stringContaining('not crosstalk')]);
  }
  expect(readdirSync(join(given, 'git'))).toEqual(['project']);
  expect(readFileSync(own, 'utf8')).toBe('mine\n');
});

it('an id that is no name of a folder is never part of a path', async () => {
  const machine = new Machine();
  await machine.make();
  mkdirSync(join(machine.home, 'elsewhere'));
  writeFileSync(join(machine.dir, '.git', 'crosstalk', 'id'), '../elsewhere\n');
  expect((await machine.run('send', '--to', 'concierge', 'hello')).out).toMatch(/^Sent: /);
  expect(readdirSync(join(machine.home, 'elsewhere'))).toEqual([]);
});

it(
  'the state of 6.0.0 is found again, and what it approved and had not sent is set aside and said, not believed',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    await machine.make();
    machine.bus.unplug();
    const queued = await machine.run('send', '--to', 'concierge', 'hello');
    expect(queued.out).toMatch(/^Queued: /);
    machine.bus.plug();
    // The state of 6.0.0: no id in the clone, and a state without the later parts.
    const [name = ''] = machine.states();
    const state = join(machine.home, 'crosstalk', name);
    for (const path of ['git', 'git-settings.json', 'clone.json', 'state.key', 'host-file.md'])
      rmSync(join(state, path), { recursive: true, force: true });
    rmSync(join(machine.dir, '.git', 'crosstalk'), { recursive: true });
    rmSync(join(machine.home, 'crosstalk', 'clones'), { recursive: true });
    git(machine.dir, 'sparse-checkout', 'disable');
    const approved = {
      version: 1,
      started: true,
      hosts: { here: { concierge: { default: 'echo approved' } } },
    };
    writeFileSync(join(state, 'approvals.json'), JSON.stringify(approved));
    const [{ id, commits } = {}] = rowsIn(state, 'outbox');
    for (const part of ['', '-wal', '-shm'])
      rmSync(join(state, `state.db${part}`), { force: true });
    const entry = join(state, 'outbox', `${String(id)}.json`);
    const text = JSON.stringify({ id, commits });
    mkdirSync(join(state, 'outbox'), { recursive: true });
    writeFileSync(entry, text);

    const ran = await machine.run('dispatch', '--once', '--host', 'here');
    expect(ran.err).toContain('host_change_held');
    expect(machine.states()).toEqual([name]);
    expect(machine.bus.messages()).toEqual([]);
    const { out } = await machine.run('status', '--host', 'here');
    expect(out).toContain(
      `${join(state, 'approvals.json.broken')} could not be read, or was not written by this machine`,
    );
    expect(out).toContain(
      `${entry} was written by crosstalk 6.0, and is neither sent nor tried again`,
    );
    expect(readFileSync(entry, 'utf8')).toBe(text);
  },
);

it(
  'init in a folder where another transport was means the remote it is given',
  { tags: 'long' },
  async () => {
    const [first, second] = [new Bus(), new Bus()];
    const root = scratch();
    const env = { CROSSTALK_STATE_DIR: join(root, 'state') };
    const run = (...argv: string[]): Promise<Ran> => command(argv, { cwd: root, env });
    const made = ['--alias', 'here', '--cli', 'echo done'];
    await run('init', 'team', '--remote', first.hub, ...made);
    rmSync(join(root, 'team'), { recursive: true });
    await run('init', 'team', '--remote', second.hub, ...made);
    const sent = await run('send', '--transport', 'team', '--to', 'concierge', 'hello');
    expect([besideIdle(sent.err), sent.out]).toEqual(['', expect.stringMatching(/^Sent: /)]);
    expect([first.messages().length, second.messages().length]).toEqual([0, 1]);
  },
);

/** Entries of the registry, by the clone's folder. */
function remembered(machine: Machine): string[] {
  const folder = join(machine.home, 'crosstalk', 'clones');
  return readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { git_dir: Place })
    .map(({ git_dir: { path } }) => path.slice(machine.bus.root.length + 1))
    .sort();
}

interface Place {
  path: string;
  device: string;
}

/** Joins another clone, so that a new entry is written. */
async function joinAs(machine: Machine, name: string, state?: string): Promise<void> {
  const env = {
    XDG_STATE_HOME: machine.home,
    ...(state !== undefined && { CROSSTALK_STATE_DIR: state }),
  };
  const argv = ['init', name, '--remote', machine.bus.hub, '--alias', name, '--cli', 'true'];
  const { code, err } = await command(argv, { cwd: machine.bus.root, env });
  if (code !== 0) throw new Error(err);
}

it(
  'a clone of which nothing is left is forgotten when another one comes',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    await machine.make();
    const given = join(machine.bus.root, 'given');
    await joinAs(machine, 'gone', given);
    await joinAs(machine, 'removed');
    for (const name of ['gone', 'removed', 'given'])
      rmSync(join(machine.bus.root, name), { recursive: true });
    await joinAs(machine, 'other');
    // The state of "removed" still exists: its approvals apply when it comes back.
    expect(remembered(machine)).toEqual(['other/.git', 'removed/.git', 'team/.git']);
  },
);

it(
  'a clone or a state that may be on a disk that is not mounted is never forgotten',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    await machine.make();
    const folder = join(machine.home, 'crosstalk', 'clones');
    const away = ['disk', 'state'];
    for (const name of away) {
      await joinAs(machine, name, join(machine.bus.root, `${name}-given`));
      const entry = readdirSync(folder)
        .map((file) => join(folder, file))
        .find((file) => readFileSync(file, 'utf8').includes(`/${name}/.git`));
      const record = JSON.parse(readFileSync(entry ?? '', 'utf8')) as {
        git_dir: Place;
        states: Place[];
      };
      // As it would be if it had been on another file system than the rest of its path.
      const place = name === 'disk' ? record.git_dir : record.states[0];
      if (place !== undefined) place.device += '1';
      writeFileSync(entry ?? '', JSON.stringify(record));
      for (const path of [name, `${name}-given`])
        rmSync(join(machine.bus.root, path), { recursive: true });
    }
    // A file in the place of a git directory, which a run can put there.
    await joinAs(machine, 'moved', join(machine.bus.root, 'moved-given'));
    rmSync(join(machine.bus.root, 'moved', '.git'), { recursive: true });
    writeFileSync(join(machine.bus.root, 'moved', '.git'), 'gitdir: /elsewhere\n');
    rmSync(join(machine.bus.root, 'moved-given'), { recursive: true });
    await joinAs(machine, 'other');
    expect(remembered(machine)).toEqual([
      'disk/.git',
      'moved/.git',
      'other/.git',
      'state/.git',
      'team/.git',
    ]);
  },
);

it(
  'a clone that was used with several state directories is kept for any of them',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    await machine.make();
    await joinAs(machine, 'two', join(machine.bus.root, 'first'));
    await command(['status'], {
      cwd: join(machine.bus.root, 'two'),
      env: { XDG_STATE_HOME: machine.home, CROSSTALK_STATE_DIR: join(machine.bus.root, 'second') },
    });
    for (const path of ['two', 'first']) rmSync(join(machine.bus.root, path), { recursive: true });
    await joinAs(machine, 'other');
    expect(remembered(machine)).toContain('two/.git');
  },
);
