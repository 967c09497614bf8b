import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { harmless } from '../../src/cli/view/render.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

const bare = (...argv: string[]): ReturnType<typeof command> => command(argv, { cwd: scratch() });

describe('usage', () => {
  it.each(COMMANDS.map(({ name, example }) => [name, example]))(
    '%s --help shows an example',
    async (name, example) => {
      const { code, out, err } = await bare(...name.split(' '), '--help');
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain(`Example:\n  ${example}`);
    },
  );
  it.each(COMMANDS.map(({ name }) => [name]))(
    'help %s shows its help',
    { tags: 'long' },
    async (name) => {
      const asked = await bare('help', ...name.split(' '));
      expect([asked.code, asked.err]).toEqual([0, '']);
      expect(asked.out).toBe((await bare(...name.split(' '), '--help')).out);
    },
  );
  it('help of a group lists its commands, and of a word after a command nothing is known', async () => {
    expect((await bare('help', 'worktree')).out).toBe((await bare('worktree', '--help')).out);
    expect((await bare('help', 'watch', 'list')).out).toBe((await bare('watch', '--help')).out);
  });
  it.each([
    [['snd'], "unknown command 'snd' (Did you mean send?)"],
    [
      ['worktree', 'lst'],
      "crosstalk worktree: unknown command 'lst' (Did you mean list?); see: crosstalk worktree --help",
    ],
    [['help', 'snd'], "crosstalk: unknown command 'snd' (Did you mean send?)"],
    [['help', 'host', 'shwo'], "crosstalk host: unknown command 'shwo' (Did you mean show?)"],
    [['send', '--two', 'x'], "unknown option '--two' (Did you mean --to?)"],
    [['send', 'x', 'y', '--to', 'a'], 'too many arguments'],
    [['send', 'x'], '--to is missing'],
    [['explain', 'x'], "missing required argument 'actor'"],
    [['reply'], "missing required argument 'message'"],
    [['reply', 'x', 'y', 'z'], 'too many arguments, the second is "z"'],
    [['inbox', '--limit', 'all'], '--limit is "all", expected how many messages'],
    [['channel', 'create'], "missing required argument 'name'"],
    [['channel'], 'a name is missing; make a channel with: crosstalk channel create <name>'],
    [['dispatch', 'wak'], 'too many arguments: expected 0, got 1; see: crosstalk dispatch --help'],
    [['guide', 'x', 'y'], 'too many arguments'],
    [
      ['channel', 'crate', 'x'],
      'too many arguments: expected 0, got 2; see: crosstalk channel --help',
    ],
    [['web', 'token', 'a', 'b', 'c'], 'expected 2, got 3; see: crosstalk web token --help'],
    [['dlq', '--list', '--clear'], '--list and --clear were given'],
    [['outbox', '--drop', 'x', '--allow-secret', 'x'], '--allow-secret and --drop were given'],
    [['dispatch', '--interval', 'soon'], '--interval is "soon", expected seconds'],
    [['actor'], 'a subcommand is missing'],
    [['memory'], 'a subcommand is missing'],
    [['memory', 'add', 'x'], '--subject is missing'],
    [['memory', 'add', '--subject', 'x'], 'the note has no text'],
    [['open'], '--actor is missing'],
    [['replies'], 'no message was named'],
    [['init', '--alias', 'a/b'], '--alias "a/b" is not a name'],
  ])('%j is wrong usage, said in one line', async (argv, expected) => {
    const { code, out, err } = await bare(...argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(expected);
    expect(err).toMatch(/^crosstalk.*: .*; .*\n$|^crosstalk.*\(Did you mean.*\n$/);
    expect(err.trim().split('\n')).toHaveLength(1);
  });
  it('with --json an error is a document on stdout as well, and one line on stderr', async () => {
    const usage = await bare('send', '--json', 'x');
    const line = '--to is missing; say to whom: crosstalk send --to <name> "<text>"';
    expect([usage.code, usage.err]).toEqual([2, `crosstalk send: ${line}\n`]);
    expect(JSON.parse(usage.out)).toEqual({
      error: { code: 'usage', command: 'send', message: line },
    });
    const unknown = await bare('snd', '--json');
    expect(JSON.parse(unknown.out)).toMatchObject({ error: { code: 'usage', command: '' } });
    const outside = await bare('status', '--json');
    expect(outside.code).toBe(1);
    expect(JSON.parse(outside.out)).toMatchObject({
      error: { code: 'not_found', command: 'status' },
    });
    expect((await bare('send', '--to', 'x', '--', '--json')).out).toBe('');
  });
  it('the help of a group has one list of commands', async () => {
    const { code, out } = await bare('host', '--help');
    expect([code, out.match(/^\S.*:$/gm)]).toEqual([0, ['Options:', 'Commands:']]);
  });
  it('no command shows the commands and is wrong usage', async () => {
    const { code, out } = await bare();
    expect(code).toBe(2);
    expect(out).toBe((await bare('--help')).out);
  });
  it.each(
    COMMANDS.filter(({ standalone }) => standalone !== true).map(({ name, args }) => [name, args]),
  )('%s outside a transport says what to do', async (name, args) => {
    const fill = (args ?? '')
      .split(' ')
      .filter((arg) => arg.startsWith('<'))
      .map(() => '12345678');
    const needed: Record<string, string[]> = {
      send: ['--to', 'a', 'x'],
      reply: ['x'],
      ask: ['x'],
      replies: ['12345678'],
      channel: ['--name', 'x'],
      'actor add': ['--cli', 'x'],
      'schedule add': ['--to', 'a', 'x'],
      archive: ['--before', '2025-01-01'],
      'memory add': ['--subject', 'x', 'y'],
      open: ['--actor', 'x'],
    };
    const { code, err } = await bare(...name.split(' '), ...fill, ...(needed[name] ?? []));
    expect(code).toBe(1);
    expect(err).toMatch(/^crosstalk .*: no transport found from .* upward; go into one, .*\n$/);
  });
});

it('says how to name a transport in a repository that is none', async () => {
  const cwd = scratch();
  git(cwd, 'init', '--quiet');
  const { code, err } = await command(['status'], { cwd });
  expect([code, err.trim().split('\n').length]).toEqual([1, 1]);
  for (const way of ['--transport <dir>', 'CROSSTALK_TRANSPORT', 'crosstalk init <dir>'])
    expect(err).toContain(way);
});

describe('init', () => {
  it('makes a working transport of a local folder and prints it last', async () => {
    const root = scratch();
    const { code, out } = await command(['init', 'here', '--cli', 'claude'], { cwd: root });
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n').at(-1)).toBe(`Transport: ${join(root, 'here')}`);
    const files = git(join(root, 'here'), 'ls-files').split('\n');
    for (const path of [
      '.gitignore',
      'CLAUDE.md',
      'AGENTS.md',
      'upstream/CROSSTALK-VERSION',
      'upstream/PROTOCOL.md',
      'upstream/OPERATOR.md',
      'upstream/CROSSTALK.md',
      'upstream/actors/concierge.md',
      'upstream/actors/worker.md',
      'upstream/actors/librarian.md',
    ]) {
      expect(files).toContain(path);
    }
    expect(git(join(root, 'here'), 'status', '--porcelain')).toBe('');
    expect(readFileSync(join(root, 'here', 'upstream/CROSSTALK-VERSION'), 'utf8')).toBe('6.0\n');
  });
  it('refuses a folder that is not empty, and one that is a transport, and changes neither', async () => {
    const root = scratch();
    writeFileSync(join(root, 'file'), '');
    const full = await command(['init'], { cwd: root });
    expect([full.code, full.err]).toEqual([
      1,
      `crosstalk init: ${root} is not empty, it holds "file"; name a new or empty folder: crosstalk init <dir>\n`,
    ]);
    await command(['init', 'here', '--cli', 'x'], { cwd: root });
    expect((await command(['init', 'here'], { cwd: root })).err).toContain(
      'is a transport already',
    );
  });
  it('refuses a folder inside a transport, also one that does not exist yet', async () => {
    const root = scratch();
    await command(['init', 'here', '--cli', 'true'], { cwd: root });
    symlinkSync(join(root, 'here', 'upstream'), join(root, 'link'));
    expect((await command(['init', 'link/inner', '--cli', 'true'], { cwd: root })).code).toBe(1);
    for (const dir of ['here/inner', 'here/upstream/a/b']) {
      const { code, out, err } = await command(['init', dir, '--cli', 'true'], { cwd: root });
      expect([code, out]).toEqual([1, '']);
      expect(err).toBe(
        `crosstalk init: ${join(root, dir)} lies inside the transport ${join(root, 'here')}, and one inside another is of no use; name a folder outside: crosstalk init <dir>\n`,
      );
    }
    expect(git(join(root, 'here'), 'status', '--porcelain')).toBe('');
  });
  it('refuses a remote that is used for something else, and leaves nothing behind', async () => {
    const root = scratch();
    const code = join(root, 'code');
    git(root, 'init', '--quiet', '--initial-branch', 'main', code);
    git(code, 'commit', '--quiet', '--allow-empty', '--message', 'some code');
    const ran = await command(['init', 'here', '--remote', code, '--cli', 'true'], { cwd: root });
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toBe(
      `crosstalk init: ${code} is not a transport: its branch main has commits, but no upstream/CROSSTALK-VERSION; a transport needs a repository of its own: make an empty one, and name that with --remote\n`,
    );
    expect(() => readFileSync(join(root, 'here'))).toThrow(/ENOENT/);
  });
  it('says where to go and how to check, with a path that a shell understands', async () => {
    const root = scratch();
    const made = await command(['init', "Anna's bus", '--cli', 'claude'], { cwd: root });
    expect(made.out).toContain(
      `Next: cd 'Anna'\\''s bus' && crosstalk dispatch, and in another shell there: crosstalk ask concierge "hello"\n`,
    );
    expect(made.out).toContain(
      'To check: crosstalk doctor, and whether claude answers: crosstalk agents --run claude\n',
    );
  });
  it('works in a clone that belongs to another user', async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const other = { env: { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' } };
    expect((await host.runWith(other, 'status')).out).toContain('hosts/front.md (front)');
    // Here the variable makes git refuse the remote too, which is a folder.
    const queued = await host.runWith(other, 'send', '--to', 'worker', 'hello');
    expect([queued.code, queued.out]).toEqual([0, expect.stringMatching(/^Queued: /)]);
    expect(queued.err).toContain('dubious ownership');
  });
  it('leaves nothing behind when the remote cannot be used', async () => {
    const root = scratch();
    const { code, err } = await command(['init', 'here', '--remote', 'nowhere.git'], { cwd: root });
    expect(code).toBe(1);
    expect(err).toMatch(
      /^crosstalk init: cannot use the remote nowhere\.git: .*; check the address and your access\n$/m,
    );
    expect(() => readFileSync(join(root, 'here'))).toThrow(/ENOENT/);
  });
  it(
    'joins an existing transport: adds this machine and refuses an alias that is taken',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      await bus.host('front', { worker: 'true' });
      const taken = await command(
        ['init', 'x', '--remote', bus.hub, '--alias', 'front', '--cli', 'y'],
        { cwd: bus.root },
      );
      expect(taken.err).toContain('the alias "front" is taken');
      const joined = await command(
        [
          'init',
          'x',
          '--remote',
          bus.hub,
          '--alias',
          'second',
          '--actor',
          'painter',
          '--cli',
          'codex',
        ],
        { cwd: bus.root },
      );
      expect([joined.out, joined.err]).toEqual([
        expect.stringContaining('Joined as second.'),
        expect.not.stringContaining('each host runs each message'),
      ]);
      const join3 = ['init', 'y', '--remote', bus.hub, '--alias', 'third', '--cli', 'true'];
      const third = await command([...join3, '--actor', 'painter'], { cwd: bus.root });
      expect(third.err).toContain(
        'painter is served by second too, and each host runs each message: name@host is for one of them; to let any one of them take it: crosstalk actor set painter serve=one',
      );
      const there = { cwd: join(bus.root, 'x') };
      expect((await command(['status'], there)).out).toContain('hosts/second.md (second)');
      expect(git(bus.hub, 'show', 'main:hosts/second.md')).toContain('codex exec');
      expect(git(bus.hub, 'show', 'main:local/actors/painter.md')).toContain('name: painter');
    },
  );
});

describe('send', () => {
  let host: Host;
  const ready = async (): Promise<Host> =>
    (host = await new Bus().host('front', { worker: 'true' }));
  const last = (): string => host.bus.from('operator').at(-1)?.message.body ?? '';
  it('takes the text from the argument, from stdin or from a file', { tags: 'long' }, async () => {
    await ready();
    await host.run('send', '--to', 'worker', 'argument');
    expect(last()).toBe('argument');
    await host.runWith({ stdin: 'piped\n' }, 'send', '--to', 'worker');
    expect(last()).toBe('piped\n');
    await host.runWith({ stdin: 'dashed\n' }, 'send', '--to', 'worker', '-');
    expect(last()).toBe('dashed\n');
    writeFileSync(join(host.bus.root, 'text.md'), 'from a file\n');
    await host.run('send', '--to', 'worker', '--file', 'text.md');
    expect(last()).toBe('from a file\n');
  });
  it('refuses what cannot be sent and writes nothing', async () => {
    await ready();
    for (const argv of [
      ['--to', 'a b', 'x'],
      ['--to', 'worker', ''],
      ['--to', 'worker', '--tier', ' ', 'x'],
      ['--to', 'worker', '--from', '../x', 'x'],
      ['--to', 'worker', '--file', 'gone'],
      ['--to', 'worker', 'x'.repeat(1024 * 1024)],
      ['--to', 'worker'],
    ]) {
      expect((await host.run('send', ...argv)).code).toBe(2);
    }
    expect(host.bus.messages()).toEqual([]);
  });
  it('warns of an addressee no host serves, and sends all the same', async () => {
    await ready();
    const { code, out, err } = await host.run('send', '--to', 'nobody,worker@mac', 'hello');
    expect(code).toBe(0);
    expect(out).toMatch(/^Sent: /);
    expect(err).toContain('no host serves nobody; the message waits until one does');
    expect(err).toContain('no host serves worker@mac (worker is served by front)');
  });
  it(
    'knows the sender from --from, CROSSTALK_FROM, git config and the login, in that order',
    { tags: 'long' },
    async () => {
      await ready();
      const from = (): string | undefined => host.bus.messages().at(-1)?.message.from;
      await host.run('send', '--to', 'worker', 'x');
      expect(from()).toBe('operator');
      git(host.dir, 'config', 'crosstalk.from', 'configured');
      await host.run('send', '--to', 'worker', 'x');
      expect(from()).toBe('configured');
      await host.runWith({ env: { CROSSTALK_FROM: 'environment' } }, 'send', '--to', 'worker', 'x');
      expect(from()).toBe('environment');
      await host.runWith(
        { env: { CROSSTALK_FROM: 'environment' } },
        'send',
        '--to',
        'worker',
        '--from',
        'option',
        'x',
      );
      expect(from()).toBe('option');
    },
  );
  it(
    'takes the channel called general where none is named, else the one that the clone says',
    { tags: 'long' },
    async () => {
      await ready();
      const made = await host.run('channel', '--name', 'release', '--description', 'Be brief.');
      const id = made.out.trim();
      expect(made.out).toBe(`${id}\n`);
      expect((await host.run('send', '--to', 'worker', 'x')).code).toBe(0);
      for (const channel of [id, id.slice(0, 8), 'release']) {
        expect((await host.run('send', '--to', 'worker', '--channel', channel, 'x')).code).toBe(0);
      }
      git(host.dir, 'config', 'crosstalk.channel', 'release');
      expect((await host.run('send', '--to', 'worker', 'x')).code).toBe(0);
      const general = host.channel();
      const into = (channel: string): number =>
        host.bus.messages().filter((message) => message.channel === channel).length;
      expect([into(general), into(id)]).toEqual([1, 4]);
      expect((await host.run('channel', 'list')).out).toMatch(
        /^.{36} {2}general .*[^t]\n.{36} {2}release .* the default\n$/,
      );
      git(host.dir, 'config', 'crosstalk.channel', 'gone');
      const { err } = await host.run('send', '--to', 'worker', 'x');
      expect(err).toMatch(
        /^crosstalk send: no channel "gone", which git config crosstalk\.channel says, in this transport, which has (general|release) \(.{8}\), .*; set another with: git config crosstalk\.channel <name>\n$/,
      );
      expect((await host.run('send', '--to', 'worker', '--channel', 'nope', 'x')).err).toContain(
        'no channel "nope"',
      );
      expect((await host.run('channel', 'create', 'release')).err).toContain('exists already');
    },
  );
  it('takes the first of several channels called general, whoever makes another', async () => {
    await ready();
    const general = host.channel();
    for (const id of [
      '00000000-0000-4000-8000-000000000000',
      'ffffffff-0000-4000-8000-000000000000',
    ])
      host.edit({
        [`data/channels/${id}/CHANNEL.md`]: `---\nid: ${id}\nname: general\ncreated_by: eve\ncreated_at: 2020-01-01T00:00:00Z\n---\n`,
      });
    await host.run('sync');
    expect((await host.run('send', '--to', 'worker', 'x')).code).toBe(0);
    expect(host.bus.messages().map(({ channel }) => channel)).toEqual([general]);
  });
  it('asks for a channel when there are several, none of them called general', async () => {
    host = await new Bus().host('front', { worker: 'true' });
    host.remove(`data/channels/${host.channel()}/CHANNEL.md`);
    await host.run('channel', 'create', 'one');
    await host.run('channel', 'create', 'two');
    const unsure = await host.run('send', '--to', 'worker', 'x');
    expect(unsure.code).toBe(1);
    expect(unsure.err).toMatch(
      /several channels: .* \(.{8}\), .* \(.{8}\); say which with --channel <name or id>, or for this clone with: git config crosstalk.channel <name or id>\n$/,
    );
  });
  it('with --no-wait is queued at once', async () => {
    await ready();
    const { code, out } = await host.run('send', '--no-wait', '--to', 'worker', 'x');
    expect([code, out.slice(0, 8)]).toEqual([0, 'Queued: ']);
    expect(host.bus.messages()).toEqual([]);
    expect((await host.run('replies', out.trim().slice(8))).out).toBe(
      `PENDING ${out.trim().slice(8)}\n`,
    );
    await host.run('sync');
    expect(host.bus.messages()).toHaveLength(1);
  });
});

it('replies --wait ends with 3 when nobody answers in time', { tags: 'long' }, async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const sent = await host.send('worker', 'hello');
  expect(await host.run('replies', '--wait', '--timeout', '0.2', sent)).toMatchObject({
    code: 3,
    out: `PENDING ${sent}\n`,
  });
  expect((await host.run('replies', '2026/01/01/000000000Z-00000000.md')).err).toMatch(
    /no message "2026.*"/,
  );
});

it('explain says which clause decided', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const sent = await host.send('worker', 'hello');
  await host.once();
  const reply = bus.from('worker')[0]!.relPath;
  expect((await host.run('explain', sent, 'worker')).out).toContain(
    'wakes worker: it has no re:, so it is a new task',
  );
  expect((await host.run('explain', reply, 'operator')).out).toContain(
    'is for operator, a person, who finds it with crosstalk inbox: its re: names a message that operator sent',
  );
  expect((await host.run('explain', reply.slice(-15, -3), 'worker')).out).toContain(
    'does not wake worker: worker sent it',
  );
});

it('explain says which facts hold for a message', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: 'echo done',
    broken: { default: { cli: 'exit 1', attempts: 1 } },
    quiet: 'crosstalk send --to other --new hello >&2',
  });
  host.declare({ other: 'true' }, 'away');
  const state = async (path: string, actor: string): Promise<string> =>
    (await host.run('explain', path, actor)).out.split('state: ')[1]?.trim() ?? '';
  const [asked, failing, silent] = [
    await host.send('worker', 'x'),
    await host.send('broken', 'x'),
    await host.send('quiet', 'x'),
  ];
  expect(await state(asked, 'worker')).toBe('on the bus');
  await host.once();
  expect(await state(asked, 'worker')).toMatch(/^on the bus, seen by front, answered by 20/);
  expect(await state(failing, 'broken')).toMatch(
    /^on the bus, seen by front, failed, as 20\S+ tells, quarantined as dead letter /,
  );
  expect(await state(silent, 'quiet')).toBe('on the bus, seen by front, met with silence');
  const elsewhere = await bus.host('elsewhere', { other: 'true' });
  await elsewhere.run('sync');
  expect((await elsewhere.run('explain', asked, 'worker')).out).toContain(
    'state: on the bus, seen by front, answered by ',
  );
  expect((await elsewhere.run('explain', failing, 'broken')).out).toMatch(
    /state: on the bus, seen by front, failed, as 20\S+ tells$/m,
  );
});

it('what other people wrote cannot steer a terminal', () => {
  expect(harmless('a\u001b[2Jb\u0007c\u202ed\r\n\te\u009bf')).toBe('a[2Jbcd\n\tef');
  expect(harmless('\u001b[31mred\u001b[39m')).toBe('\u001b[31mred\u001b[39m');
});

it(
  'actor add writes the host file without losing what else is in it, and approves the command',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    await host.once();
    host.edit({
      'hosts/front.md':
        '---\n# my laptop\nalias: front\nactors:\n  worker: # the good one\n    default: echo done\n---\n\nNotes.\n',
    });
    const added = await host.run(
      'actor',
      'add',
      'painter',
      '--cli',
      'echo painted',
      '--description',
      'Paints.',
      '--host',
      'front',
    );
    expect(added.code).toBe(0);
    const text = git(bus.hub, 'show', 'main:hosts/front.md');
    expect(text).toContain('# my laptop');
    expect(text).toContain('# the good one');
    expect(text.endsWith('\nNotes.\n')).toBe(true);
    await host.send('painter', 'paint');
    await host.once();
    expect(bus.from('painter').map(({ message }) => message.body)).toEqual(['painted\n']);
    expect((await host.run('actor', 'list')).out).toMatch(/painter\s+front \(default\)\s+Paints\./);
    expect((await host.run('actor', 'show', 'nobody')).err).toContain('no actor "nobody"');
  },
);

it(
  'every command that prints data prints one JSON document with --json',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const sent = JSON.parse((await host.run('send', '--json', '--to', 'worker', 'x')).out) as {
      status: string;
      messages: { relPath: string }[];
    };
    expect(sent.status).toBe('sent');
    const relPath = sent.messages[0]!.relPath;
    const commands = [
      ['replies', relPath],
      ['status'],
      ['explain', relPath, 'worker'],
      ['reply', '--from', 'carol', relPath, 'and?'],
      ['inbox', '--count'],
      ['dlq'],
      ['dlq', '--list'],
      ['outbox'],
      ['channel', 'list'],
      ['channel', 'create', 'x'],
      ['actor', 'list'],
      ['actor', 'show', 'worker'],
      ['host', 'show', '--host', 'front'],
      ['memory', 'add', '--subject', 'x', 'y'],
      ['memory', 'list'],
      ['sync'],
      ['upgrade', '--check'],
    ];
    for (const argv of commands) {
      const { out } = await host.run(...argv, '--json');
      expect(() => JSON.parse(out) as unknown, argv.join(' ')).not.toThrow();
    }
  },
);

it('upgrade replaces what differs in upstream/ and says what', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  expect((await host.run('upgrade', '--check')).out).toBe('upstream/ is up to date\n');
  host.edit({
    'upstream/PROTOCOL.md': 'old',
    'upstream/extra.md': 'extra',
    'local/actors/mine.md': 'mine',
  });
  expect((await host.run('upgrade', '--check')).out).toContain('changed  upstream/PROTOCOL.md');
  expect((await host.run('upgrade')).out).toContain('removed  upstream/extra.md');
  expect((await host.run('upgrade')).out).toBe('upstream/ is up to date\n');
  expect(git(bus.hub, 'show', 'main:local/actors/mine.md')).toBe('mine');
});

it('a transport of another version is refused by everything, with the reason', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  host.edit({ 'upstream/CROSSTALK-VERSION': '7.0\n' });
  await host.run('sync');
  for (const argv of [
    ['status'],
    ['send', '--to', 'worker', 'x'],
    ['dispatch', '--once', '--host', 'front'],
  ]) {
    const { code, err } = await host.run(...argv);
    expect(code).toBe(1);
    expect(err).toContain('says "7.0"; this program speaks exactly "6.0"');
  }
});

it('wake without a dispatcher says how to start one', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const { code, err } = await host.run('wake');
  expect(code).toBe(1);
  expect(err).toMatch(
    /^crosstalk wake: no dispatcher is running here for .*; start one with: crosstalk dispatch\n$/,
  );
  const running = host.start();
  await running.saw('tick');
  expect((await host.run('wake')).out).toMatch(/^Woken: process \d+\n$/);
  await running.saw('woken');
});

it(
  'status is healthy while all is well and not while mail is stuck',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', {
      worker: 'echo done',
      broken: { default: { cli: 'exit 7', attempts: 1 } },
    });
    expect((await host.run('status')).out).toContain(
      'no dispatcher is running here, so mail for front waits',
    );
    expect([(await host.run('status')).code, (await host.run('status', '--check')).code]).toEqual([
      0, 1,
    ]);
    const running = host.start();
    await running.saw('tick');
    expect((await host.run('status')).out.split('\n')[0]).toBe('healthy');
    expect((await host.run('status', '--check')).code).toBe(0);
    await host.send('broken', 'x');
    await running.saw('quarantined');
    // The notice of the failure is written beside that, and is a message of the channel as well.
    const out = await until('the notice', async () => {
      const status = await host.run('status');
      return / general +2 messages /.test(status.out) && status.out;
    });
    // Times are those of this machine's clock on the wall, and channels have names.
    expect(out).not.toMatch(/\dT\d\d:\d\d.*Z/);
    const told = (await host.run('doctor')).out;
    expect(told).toMatch(/ locks: dispatcher: process \d+ since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
    expect(told).not.toMatch(/\dT\d\d:\d\d.*Z/);
    expect(out).toMatch(/^ {2}process +\d+, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/m);
    expect(out).toMatch(/ general +2 messages +last \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/m);
    expect(out).toContain('quarantined deliveries: 1;');
    expect(out).toContain('exit code 7');
  },
);

it('dlq forgets only when told so', async () => {
  const host = await new Bus().host('front', {
    broken: { default: { cli: 'exit 7', attempts: 1 } },
  });
  await host.send('broken', 'x');
  await host.once();
  expect((await host.run('dlq', '--clear')).code).toBe(2);
  expect((await host.run('dlq', '--show', 'nothing')).err).toContain('no dead letter "nothing"');
  const [id = ''] = (await host.run('dlq')).out.split(' ');
  const [message] = host.bus.from('operator');
  for (const named of [` ${id} `, message?.relPath ?? '', message?.relPath.slice(-15, -3) ?? ''])
    expect((await host.run('dlq', '--show', named)).out).toContain(id);
  const vague = await host.run('dlq', '--drop', '01');
  expect([vague.code, vague.err]).toEqual([
    2,
    `crosstalk dlq: this dead letter would be forgotten: ${id}; say so with --yes\n`,
  ]);
  const asked: string[] = [];
  const no = (question: string): Promise<string> => {
    asked.push(question);
    return Promise.resolve('');
  };
  const kept = await host.runWith({ ask: no }, 'dlq', '--drop', id);
  expect([kept.code, asked]).toEqual([
    1,
    ['Forget this dead letter? The messages stay on record. [y/N] '],
  ]);
  expect(kept.err).toContain(message?.relPath);
  expect((await host.run('dlq', '--drop', id)).out).toBe(`Dropped: ${id}\n`);
  expect((await host.run('dlq')).out).toBe('');
  for (const argv of [
    ['--clear', '--yes'],
    ['--drop', 'all'],
    ['--retry', 'all'],
  ])
    expect(await host.run('dlq', ...argv)).toMatchObject({
      code: 0,
      err: 'crosstalk dlq: no dead letters\n',
    });
});

it('open and attach start the right CLI in the right place with the right text', async () => {
  const bus = new Bus();
  const bin = join(bus.root, 'bin');
  mkdirSync(bin);
  const seen = join(bus.root, 'seen');
  writeFileSync(
    join(bin, 'claude'),
    `#!/bin/sh\n{ pwd; for a in "$@"; do printf '%s\\n' "$a"; done; } > ${seen}\nexit 5\n`,
    { mode: 0o755 },
  );
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  const host = await bus.host('front', {
    worker: 'claude -p --model opus',
    other: `cat "$CROSSTALK_INSTRUCTIONS" > ${seen}`,
  });
  expect((await host.runWith({ env }, 'open', '--host', 'front', '--actor', 'worker')).code).toBe(
    5,
  );
  expect(readFileSync(seen, 'utf8')).toMatch(
    new RegExp(
      `^${join(host.state, 'work/worker/session')}\n--append-system-prompt\n# You are an actor`,
    ),
  );
  expect((await host.runWith({ env }, 'open', '--host', 'front', '--actor', 'other')).code).toBe(0);
  expect(readFileSync(seen, 'utf8')).toContain('# Your profile: other');
  host.edit({ 'local/actors/other.md': 'no header\n' });
  await host.run('sync');
  const odd = await host.runWith({ env }, 'open', '--host', 'front', '--actor', 'other');
  expect(odd.code).toBe(0);
  expect(odd.err).toContain('crosstalk open: local/actors/other.md cannot be read: ');
  expect((await host.runWith({ env }, 'attach')).code).toBe(5);
  expect(readFileSync(seen, 'utf8')).toContain('# Operator mode');
  expect(readFileSync(seen, 'utf8')).toMatch(new RegExp(`^${bus.root}\n`));
  expect(
    (await host.runWith({ env }, 'open', '--host', 'front', '--actor', 'nobody')).err,
  ).toContain('does not serve "nobody", it serves worker, other');
});

it('attach starts the agent CLI that this machine serves before another that is there, and says so', async () => {
  const bus = new Bus();
  const bin = join(bus.root, 'bin');
  mkdirSync(bin);
  for (const [name, code] of [
    ['claude', 5],
    ['codex', 6],
  ] as const)
    writeFileSync(join(bin, name), `#!/bin/sh\nexit ${String(code)}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  const host = await bus.host('front', { worker: 'true', painter: 'codex exec -' });
  const attached = await host.runWith({ env }, 'attach');
  expect([attached.code, attached.err]).toEqual([
    6,
    'crosstalk attach: starting codex, which this machine serves; another with --agent <command>\n',
  ]);
  expect(await host.runWith({ env }, 'attach', '--agent', 'claude')).toMatchObject({
    code: 5,
    err: '',
  });
  await host.run('actor', 'remove', 'painter');
  expect(await host.runWith({ env }, 'attach')).toMatchObject({ code: 5, err: '' });
});

it(
  'doctor is content while all is well, and says what to do where it is not',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: '/bin/echo done' });
    const running = host.start();
    await running.saw('tick');
    const well = await host.run('doctor');
    expect([well.code, well.out.split('\n').filter((line) => !line.startsWith('ok'))]).toEqual([
      0,
      [''],
    ]);
    await running.stop();

    host.declare({ worker: 'no-such-agent -p' });
    await host.pointTo('/nonexistent');
    const ill = await host.run('doctor', '--host', 'front');
    expect(ill.code).toBe(1);
    expect(ill.out).toMatch(/^broken remote: .*\n {7}check the address/m);
    expect(ill.out).toContain('broken mail: no dispatcher is running here');
    await host.pointTo(bus.hub);
    await host.run('sync');
    await host.approve();
    expect((await host.run('doctor', '--host', 'front')).out).toContain(
      'no-such-agent is not on the PATH',
    );
  },
);
