import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TIER_OPTIONS } from '../../src/protocol/files/tier-options.ts';
import { Bus, type Host } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { git } from '../support/git.ts';

const setUp = async (): Promise<Host> => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  await host.once();
  return host;
};

/** A file on the bus. */
const onBus = ({ bus }: Host, path: string): string => git(bus.hub, 'show', `main:${path}`);
const hostText = (host: Host): string => onBus(host, 'hosts/front.md');

it(
  'actor set changes options of a tier, which are in force without being held, and leaves the rest',
  { tags: 'long' },
  async () => {
    const host = await setUp();
    const set = await host.run('actor', 'set', 'worker', 'count=2', 'timeout=30m');
    expect([set.code, set.err]).toEqual([0, '']);
    expect(set.out).toBe(
      'worker.default on front\n  count: default -> 2\n  timeout: default -> 30m\n',
    );
    expect(hostText(host)).toContain('cli: echo done\n      count: 2\n      timeout: 30m\n');
    expect((await host.run('host', 'show')).out).not.toContain('Held');
    const sent = await host.send('worker', 'hello');
    await host.once();
    expect(host.bus.from('worker').map(({ message }) => message.re)).toEqual([[sent]]);
    expect((await host.run('host', 'show')).out).toContain(
      'worker.default  echo done  (count 2; timeout 30m)',
    );
    const back = await host.run('actor', 'set', 'worker', 'count=', 'timeout=');
    expect(back.out).toContain('count: 2 -> default');
    expect(hostText(host)).toContain('default: echo done\n');
    expect((await host.run('host', 'show')).out).not.toContain('Held');
  },
);

it('actor set says what is wrong in one line, and changes nothing', async () => {
  const host = await setUp();
  const before = hostText(host);
  for (const [argv, code, said] of [
    [
      ['worker', 'cuont=2'],
      2,
      '"cuont" is not an option of a tier; did you mean count?; the options are cli,',
    ],
    [['worker', 'count'], 2, 'count has no value; write it as count=<value>'],
    [['worker', 'count=many'], 2, 'actors.worker.default.count is "many", expected a whole number'],
    [['worker', 'cli='], 2, 'cli= is empty; a tier needs a command'],
    [['workre', 'count=2'], 1, 'front does not serve "workre"; did you mean worker?'],
    [
      ['worker', '--tier', 'large', 'count=2'],
      1,
      'worker has no tier "large" on front, only default',
    ],
  ] as const) {
    const ran = await host.run('actor', 'set', ...argv);
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err).toContain(`crosstalk actor set: ${said}`);
    expect(ran.err.trim().split('\n')).toHaveLength(1);
  }
  expect(hostText(host)).toBe(before);
});

it('actor set does not bring into force what somebody else has proposed for the tier', async () => {
  const host = await setUp();
  const proposed = hostText(host).replace('echo done', 'echo theirs');
  host.edit({ 'hosts/front.md': proposed });
  const { code, err } = await host.run('actor', 'set', 'worker', 'count=2');
  expect(code).toBe(1);
  expect(err).toMatch(
    /a change of worker\.default is held \([0-9a-f]{12}\), .*: crosstalk host show\n$/,
  );
  expect(hostText(host)).toBe(proposed);
});

it(
  'actor remove takes the actor out of the host file and forgets its approval; its mail stays',
  { tags: 'long' },
  async () => {
    const host = await setUp();
    await host.run('actor', 'add', 'tester', '--cli', 'echo tested', '--description', 'Tests.');
    const before = hostText(host);
    const removed = await host.run('actor', 'remove', 'tester');
    expect([removed.code, removed.err]).toEqual([0, '']);
    expect(removed.out).toMatch(
      /^front no longer serves tester\nServed now by: no host; mail for it waits\nIts profile is removed; .*\n$/,
    );
    expect(hostText(host)).not.toContain('tester');
    await host.send('tester', 'hello');
    // Somebody else puts it back: nothing runs until that is approved.
    host.edit({ 'hosts/front.md': before });
    await host.once();
    expect(host.bus.from('tester')).toEqual([]);
    expect((await host.run('host', 'show')).out).toContain('tester.default');
  },
);

it('actor remove takes the profile along once no host serves it, and says how to have it back', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { shared: 'true' });
  const back = await bus.host('back', { idle: 'true' });
  const files = (): string => git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'local/actors/');
  for (const host of [front, back])
    await host.run('actor', 'add', 'tester', '--cli', 'true', '--description', 'Tests.');
  const profile = onBus(front, 'local/actors/tester.md');
  const first = await front.run('actor', 'remove', 'tester');
  expect(first.out).toBe('front no longer serves tester\nServed now by: back\n');
  expect(files()).toContain('local/actors/tester.md');
  const last = await back.run('actor', 'remove', 'tester');
  expect(files()).not.toContain('tester');
  expect((await front.run('actor', 'list')).out).not.toContain('tester');
  const [, was = ''] = /git show ([^ ]+) \| crosstalk actor edit tester --file -\n$/.exec(
    last.out,
  )!;
  await back.run('actor', 'add', 'tester', '--cli', 'true');
  const again = await back.runWith(
    { stdin: git(back.dir, 'show', was) },
    ...['actor', 'edit', 'tester', '--file', '-'],
  );
  expect(again.code).toBe(0);
  expect(onBus(back, 'local/actors/tester.md')).toBe(profile);
});

it('an actor that came with Crosstalk is listed where a host serves it, and can be shown anywhere', async () => {
  const host = await setUp();
  const names = async (): Promise<string[]> =>
    (JSON.parse((await host.run('actor', 'list', '--json')).out) as { name: string }[]).map(
      ({ name }) => name,
    );
  expect(await names()).toEqual(['worker']);
  const shown = await host.run('actor', 'show', 'librarian');
  expect([shown.code, shown.out]).toEqual([0, expect.stringMatching(/served by +no host/)]);
  expect((await host.run('actor', 'add', 'librarian', '--cli', 'true')).code).toBe(0);
  expect(await names()).toEqual(['librarian', 'worker']);
});

it('channel archive takes a channel out of the lists, and back', async () => {
  const host = await setUp();
  const id = (await host.run('channel', 'create', 'release')).out.trim();
  await host.send('worker', 'hello', '--channel', 'release');
  const listed = async (...words: string[]): Promise<string> =>
    (await host.run('channel', 'list', ...words)).out;
  const done = await host.run('channel', 'archive', 'release');
  expect([done.code, done.out]).toEqual([
    0,
    `Archived: release; bring it back with: crosstalk channel archive --undo ${id}\n`,
  ]);
  expect(await listed()).not.toContain('release');
  expect(await listed('--all')).toMatch(/release +1 message {2}.*archived$/m);
  expect((await host.run('status')).out).not.toContain('release');
  expect((await host.run('log', 'release')).out).toContain('hello');
  const refused = await host.run('send', '--to', 'worker', '--channel', 'release', 'more');
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is archived')]);
  // What was asked before is answered.
  await host.once();
  expect(host.bus.from('worker')).toHaveLength(1);
  expect((await host.run('channel', 'archive', '--undo', id)).code).toBe(0);
  expect(await listed()).toContain('release');
  for (const name of ['release', 'general']) await host.run('channel', 'archive', name);
  const nowhere = await host.run('send', '--to', 'worker', 'more');
  expect(nowhere).toMatchObject({ code: 1, out: '' });
  expect(nowhere.err).toMatch(
    /^crosstalk send: every channel is archived: general \(\w+\), release \(\w+\); bring one back with: /,
  );
});

it('actor remove takes out one tier of several, also the first', { tags: 'long' }, async () => {
  const host = await setUp();
  await host.run('actor', 'add', 'worker', '--cli', 'echo large', '--tier', 'large');
  const removed = await host.run('actor', 'remove', 'worker', '--tier', 'default');
  expect(removed.out).toBe('front no longer serves worker in the tier default\n');
  expect((await host.run('host', 'show')).out).not.toContain('Held');
  await host.send('worker', 'hello');
  await host.once();
  expect(host.bus.from('worker').map(({ message }) => message.body)).toEqual(['large\n']);
});

it('actor edit takes a text without a header as what the actor is told', async () => {
  const host = await setUp();
  const header = '---\nname: worker\ndescription: Does it. # well\nskills: [review]\n---\n\n';
  const edit = (stdin: string): Promise<Ran> =>
    host.runWith({ stdin }, 'actor', 'edit', 'worker', '--file', '-');
  await edit(`${header}Be brief.\n`);
  const edited = await edit('\ufeff# Tests\n\nRun them all.\n\n---\n\nThen rest.\n');
  expect([edited.code, edited.out]).toEqual([0, 'Changed: local/actors/worker.md\n']);
  expect(onBus(host, 'local/actors/worker.md')).toBe(
    `${header}# Tests\n\nRun them all.\n\n---\n\nThen rest.\n`,
  );
});

it('actor edit takes a profile from a file or stdin, and commits it', async () => {
  const host = await setUp();
  const text = '---\nname: worker\ndescription: Does it.\n---\n\nBe **brief**.\n';
  writeFileSync(join(host.bus.root, 'profile.md'), text);
  const edited = await host.run('actor', 'edit', 'worker', '--file', 'profile.md');
  expect([edited.code, edited.out, edited.err]).toEqual([
    0,
    'Changed: local/actors/worker.md\n',
    '',
  ]);
  expect(onBus(host, 'local/actors/worker.md')).toBe(text);
  const again = await host.runWith({ stdin: text }, 'actor', 'edit', 'worker', '--file', '-');
  expect(again.out).toBe('Nothing changed in local/actors/worker.md\n');
  for (const [wrong, said] of [
    ['', 'this is no profile of worker: '],
    ['---\nname: worker\n', 'this is no profile of worker: '],
    ['---\nname: other\n---\n', 'name is "other", expected "worker"'],
  ] as const) {
    const ran = await host.runWith({ stdin: wrong }, 'actor', 'edit', 'worker', '--file', '-');
    expect([ran.code, ran.out]).toEqual([2, '']);
    expect(ran.err).toContain(said);
  }
  expect((await host.run('actor', 'edit', 'nobody', '--file', 'profile.md')).err).toContain(
    'no actor "nobody"',
  );
  expect(onBus(host, 'local/actors/worker.md')).toBe(text);
  const by = await host.runWith(
    { stdin: `${text}\nBe quick.\n` },
    ...['actor', 'edit', 'worker', '--file', '-', '--from', 'bea'],
  );
  expect(by.code, by.err).toBe(0);
  expect(git(host.bus.hub, 'log', '-1', '--format=%an', 'main').trim()).toBe('bea');
});

/** Edits the worker's profile on a terminal, in an editor that is a line of shell. */
function edited(host: Host, editor: string): Promise<Ran> {
  const script = join(host.bus.root, 'editor');
  writeFileSync(script, `#!/bin/sh\n${editor}\n`, { mode: 0o755 });
  return host.runWith(
    { env: { EDITOR: script, VISUAL: '' }, inIsTty: true, outIsTty: true },
    ...['actor', 'edit', 'worker'],
  );
}

it(
  'actor edit runs the editor, and keeps what was typed when it cannot be taken',
  { tags: 'long' },
  async () => {
    const host = await setUp();
    const done = await edited(host, 'echo "Be brief." >> "$1"');
    expect([done.code, done.out]).toEqual([0, 'Changed: local/actors/worker.md\n']);
    const text = onBus(host, 'local/actors/worker.md');
    expect(text).toMatch(/Be brief\.\n$/);
    // An editor that fails, with nothing written and with something.
    const failed = await edited(host, 'exit 3');
    expect([failed.code, failed.err]).toEqual([1, expect.not.stringContaining('is kept')]);
    for (const line of ['echo mine >> "$1"; exit 3', 'echo mine > "$1"']) {
      const { code, err } = await edited(host, line);
      expect(code).not.toBe(0);
      const [, draft = ''] = /your text is kept: crosstalk actor edit worker --file (\S+)\n$/.exec(
        err,
      )!;
      expect(readFileSync(draft, 'utf8')).toContain('mine');
    }
    expect(onBus(host, 'local/actors/worker.md')).toBe(text);
  },
);

it('actor edit changes nothing when the editor leaves no text', async () => {
  const host = await setUp();
  const tip = (): string => git(host.bus.hub, 'rev-parse', 'main');
  const before = tip();
  for (const [line, problem, isKept] of [
    ['printf "caf\\351\\n" >> "$1"', 'what the editor left is not UTF-8 text', true],
    ['rm "$1"', 'what the editor left cannot be read: ENOENT', false],
    ['rm "$1"; mkdir "$1"', 'what the editor left cannot be read: EISDIR', false],
  ] as const) {
    const { code, out, err } = await edited(host, line);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`crosstalk actor edit: ${problem}`);
    expect(err.includes('your text is kept: ')).toBe(isKept);
  }
  expect(tip()).toBe(before);
});

it('actor add refuses an empty command, and writes nothing', async () => {
  const host = await setUp();
  for (const cli of ['', ' ']) {
    const { code, err } = await host.run('actor', 'add', 'newcomer', '--cli', cli);
    expect([code, err]).toEqual([
      2,
      'crosstalk actor add: --cli is empty; name an agent CLI or a command line, as in: --cli claude\n',
    ]);
  }
  expect(onBus(host, 'hosts/front.md')).not.toContain('newcomer');
});

it('actor edit does not overwrite what somebody else has written meanwhile', async () => {
  const host = await setUp();
  const theirs = '---\nname: worker\ndescription: Theirs.\n---\n\nTheirs.\n';
  const other = join(host.bus.root, 'other');
  const { hub } = host.bus;
  const push = [
    `git clone --quiet ${hub} ${other} && cd ${other} && mkdir -p local/actors`,
    `printf %b '${theirs.replaceAll('\n', '\\n')}' > local/actors/worker.md`,
    'git add --all && git -c user.name=o -c user.email=o@o commit --quiet --message theirs && git push --quiet',
  ].join(' && ');
  const { code, err } = await edited(host, `(${push}) && echo mine >> "$1"`);
  expect(code).toBe(1);
  expect(err).toContain(
    'somebody has changed the profile of worker meanwhile; your text is kept: ',
  );
  expect(onBus(host, 'local/actors/worker.md')).toBe(theirs);
});

it('actor edit without a file needs a terminal', async () => {
  const host = await setUp();
  const { code, err } = await host.run('actor', 'edit', 'worker');
  expect(code).toBe(2);
  expect(err).toContain('there is no terminal for an editor; give the profile with --file <path>');
});

it(
  'host list shows every host file, which is this machine’s, and what cannot be read',
  { tags: 'long' },
  async () => {
    const host = await setUp();
    await host.bus.host('back', { tester: 'true' });
    host.edit({ 'hosts/broken.md': 'nothing\n' });
    const { code, out } = await host.run('host', 'list');
    expect(code).toBe(0);
    expect(out).toMatch(/^back +\S* +.*tester.*\n/m);
    expect(out).toMatch(/^front +(\S+ +)?worker +this machine$/m);
    expect(out).toMatch(/^hosts\/broken\.md +.*$/m);
    const listed = JSON.parse((await host.run('host', 'list', '--json')).out) as {
      alias: string;
    }[];
    expect(listed.map(({ alias }) => alias).sort()).toEqual(['back', 'front', null]);
    expect(readFileSync(join(host.dir, 'hosts/front.md'), 'utf8')).toContain('worker');
  },
);

it(
  'actor add shows what it replaces, keeps the other options, and asks on a terminal',
  { tags: 'long' },
  async () => {
    const host = await setUp();
    await host.run('actor', 'set', 'worker', 'count=3');
    const again = ['actor', 'add', 'worker', '--cli', 'echo other'] as const;
    const refused = await host.run(...again);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain('nothing was changed; replace it with --replace');
    expect(hostText(host)).not.toContain('echo other');
    const replaced = await host.run(...again, '--replace');
    expect(replaced.code).toBe(0);
    expect(replaced.err).toBe(
      'crosstalk actor add: worker.default is served already, and changes:\n  cli: "echo done" -> "echo other"\n',
    );
    expect(hostText(host)).toContain('cli: echo other\n      count: 3\n');
    const asked: string[] = [];
    const answer = (text: string) => (question: string) => {
      asked.push(question);
      return Promise.resolve(text);
    };
    const third = ['actor', 'add', 'worker', '--cli', 'echo third'] as const;
    const kept = await host.runWith({ ask: answer('n') }, ...third);
    expect([kept.code, kept.out]).toEqual([1, '']);
    expect(kept.err).toContain('worker.default on front stays as it is, as asked');
    expect(hostText(host)).toContain('echo other');
    const taken = await host.runWith({ ask: answer('y') }, ...third);
    expect(taken.code).toBe(0);
    expect(asked).toEqual(['Replace it? [y/N] ', 'Replace it? [y/N] ']);
    expect((await host.run('host', 'show')).out).not.toContain('Held');
    // The same once more is no change, and nothing is asked.
    const same = await host.runWith({ ask: answer('n') }, ...third);
    expect([same.code, same.err]).toEqual([0, '']);
  },
);

it('actor add takes a description, also of an actor that is there, as it was typed', async () => {
  const host = await setUp();
  const add = (description: string, ...more: string[]): Promise<Ran> =>
    host.run(...['actor', 'add', 'tester', '--cli', 'echo', '--description', description, ...more]);
  const profile = (): string => onBus(host, 'local/actors/tester.md');
  const odd = 'Says: "yes" # and no';
  expect((await add(odd)).code).toBe(0);
  expect((await host.run('actor', 'list')).out).toContain(odd);
  expect((await add(odd)).err).toBe('');
  const refused = await add('Tests.');
  expect([refused.code, refused.out]).toEqual([1, '']);
  expect(refused.err).toContain('  description: "Says: \\"yes\\" # and no" -> "Tests."\n');
  expect((await add('Tests.', '--replace')).code).toBe(0);
  expect(profile()).toBe(
    '---\nname: tester\ndescription: Tests.\n---\n\nYou are **tester**. Tests.\n',
  );
  await host.runWith(
    { stdin: '---\nname: tester\ndescription: Tests.\nskills: [review]\n---\n\nAs I say.\n' },
    ...['actor', 'edit', 'tester', '--file', '-'],
  );
  await add('Tests more.', '--replace');
  expect(profile()).toContain('description: Tests more.\nskills:');
  expect(profile()).toContain('As I say.');
  for (const wrong of ['two\nlines', 'a \u001b[2J bell'])
    expect(await add(wrong, '--replace')).toMatchObject({
      code: 2,
      err: expect.stringContaining('has a control character in it') as string,
    });
});

it('actor add --count is no way to more runs of an actor, and says what is', async () => {
  const host = await setUp();
  const wrong = await host.run('actor', 'add', 'worker', '--cli', 'cat', '--count', '3');
  expect([wrong.code, wrong.out]).toEqual([2, '']);
  expect(wrong.err).toContain('crosstalk actor set worker count=3');
  const added = await host.run('actor', 'add', 'hand', '--cli', 'cat', '--count', '2');
  expect([added.code, added.err]).toEqual([0, expect.stringContaining('count=2')]);
});

it('actor set serve=one is in the profile that all hosts share, and comes back with serve=', async () => {
  const host = await setUp();
  const profile = '---\nname: worker # who it is\ndescription: Works.\n---\n\nBe brief.\n';
  host.edit({ 'local/actors/worker.md': profile });
  const set = await host.run('actor', 'set', 'worker', 'serve=one');
  expect([set.code, set.err]).toEqual([0, '']);
  expect(set.out).toBe('worker.default on front\n  serve: "all" -> "one"\n');
  expect(onBus(host, 'local/actors/worker.md')).toBe(
    profile.replace('Works.\n', 'Works.\nserve: one\n'),
  );
  const serves = async (): Promise<string[]> => {
    const shown = await host.run('host', 'show', '--json');
    const { actors } = JSON.parse(shown.out) as { actors: { serve: string }[] };
    return actors.map(({ serve }) => serve);
  };
  expect(await serves()).toEqual(['one']);
  expect((await host.run('host', 'show')).out).toContain('serve one: of all hosts that serve it');
  const wrong = await host.run('actor', 'set', 'worker', 'serve=two', '--json');
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('serve is "two", expected')]);
  const both = await host.run('actor', 'set', 'worker', 'serve=', 'count=2');
  expect(both.out).toBe(
    'worker.default on front\n  serve: "one" -> "all"\n  count: default -> 2\n',
  );
  expect(onBus(host, 'local/actors/worker.md')).toBe(profile);
  expect([await serves(), (await host.run('host', 'show')).out]).toEqual([
    ['all'],
    expect.not.stringContaining('Held'),
  ]);
});

it('actor add of a name that another host serves says that both run each message, and how one would', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { tester: 'echo done' });
  const back = await bus.host('back', { other: 'echo done' });
  const add = ['actor', 'add', 'tester', '--cli', 'cat'];
  const added = await back.run(...add);
  expect([added.code, added.err]).toEqual([
    0,
    expect.stringContaining(
      'tester is served by front too, and each host runs each message: name@host is for one of them; to let any one of them take it: crosstalk actor set tester serve=one\n',
    ),
  ]);
  await back.run('actor', 'set', 'tester', 'serve=one');
  const third = await bus.host('third', { other: 'echo done' });
  expect((await third.run(...add)).err).not.toContain('each host runs each message');
  expect((await front.run('actor', 'add', 'alone', '--cli', 'cat')).err).toBe('');
});

it('actor add takes nothing over from what somebody else has proposed for the tier', async () => {
  const host = await setUp();
  const proposed = hostText(host).replace(
    'default: echo done',
    'default: { cli: echo theirs, workdir: /etc, count: 9 }',
  );
  host.edit({ 'hosts/front.md': proposed });
  const ours = ['actor', 'add', 'worker', '--cli', 'echo ours', '--replace'];
  expect((await host.run(...ours)).code).toBe(0);
  expect(hostText(host)).toContain('default: echo ours\n');
});

it.each([
  ['cluade', 'cluade is not on the PATH, so mail for the actor would fail; did you mean claude?'],
  ['/no/such/cli -p', '/no/such/cli is not there, so mail for the actor would fail'],
])('the command %s is taken with a warning', { tags: 'long' }, async (cli, warning) => {
  const host = await setUp();
  const added = await host.run('actor', 'add', 'tester', '--cli', cli);
  expect([added.code, added.err]).toEqual([0, `crosstalk actor add: ${warning}\n`]);
});

it(
  'actor remove forgets every approval of an actor, also of what is not in the file any more',
  { tags: 'long' },
  async () => {
    const host = await setUp();
    await host.run('actor', 'add', 'worker', '--cli', 'echo large', '--tier', 'large');
    const both = hostText(host);
    host.edit({ 'hosts/front.md': both.replace(/^ +large: .*\n/m, '') });
    await host.once();
    expect((await host.run('actor', 'remove', 'worker')).code).toBe(0);
    // Somebody else puts back what was approved once: nothing of it runs.
    host.edit({ 'hosts/front.md': both });
    await host.send('worker', 'hello', '--tier', 'large');
    await host.once();
    expect(host.bus.from('worker')).toEqual([]);
    // The same where somebody else has taken the whole actor out.
    await host.run('actor', 'add', 'tester', '--cli', 'echo tested');
    const served = hostText(host);
    host.edit({ 'hosts/front.md': both });
    expect((await host.run('actor', 'remove', 'tester')).out).toContain('no longer serves tester');
    host.edit({ 'hosts/front.md': served });
    expect((await host.run('host', 'show')).out).toContain('tester.default');
  },
);

it('actor remove makes no tier the default that was never approved', async () => {
  const host = await setUp();
  await host.run('actor', 'add', 'worker', '--cli', 'echo large', '--tier', 'large');
  host.edit({
    'hosts/front.md': hostText(host).replace(/^( +)large:/m, '$1evil: echo evil\n$1large:'),
  });
  expect((await host.run('actor', 'remove', 'worker', '--tier', 'default')).code).toBe(0);
  await host.send('worker', 'hello');
  await host.once();
  expect(host.bus.from('worker').map(({ message }) => message.body)).toEqual(['large\n']);
  const shown = (await host.run('host', 'show')).out;
  expect(shown).toContain('worker.evil');
  expect(shown).toMatch(/^[0-9a-f]{12} {2}worker$/m);
});

it('what is changed in a host file leaves every other value as it was written', async () => {
  const host = await setUp();
  const odd = `---\nalias: front\nnote: 007\nmore: .5\nactors:\n  42:\n    1e3: echo odd\n  worker:\n    default: echo done\n---\n\nMine.\n`;
  host.edit({ 'hosts/front.md': odd });
  await host.run('actor', 'set', 'worker', 'count=4');
  expect(hostText(host)).toBe(
    odd.replace('default: echo done', 'default:\n      cli: echo done\n      count: 4'),
  );
  expect((await host.run('actor', 'remove', '42')).code).toBe(0);
  expect(hostText(host)).not.toContain('1e3');
});

it('a host file with anchors is refused in one line', async () => {
  const host = await setUp();
  const text = hostText(host).replace(
    'default: echo done',
    'default: &x echo done\n  helper:\n    default: *x',
  );
  host.edit({ 'hosts/front.md': text });
  for (const argv of [
    ['set', 'worker', 'count=2'],
    ['remove', 'worker'],
    ['add', 'tester', '--cli', 'true'],
  ]) {
    const { code, err } = await host.run('actor', ...argv);
    expect(code).toBe(1);
    expect(err).toContain('the host file has YAML anchors');
    expect(err.trim().split('\n')).toHaveLength(1);
  }
  expect(hostText(host)).toBe(text);
});

it('what changes in the host file while actor add asks is not lost', { tags: 'long' }, async () => {
  const host = await setUp();
  const ask = async (): Promise<string> => {
    if (!hostText(host).includes('helper')) {
      await host.run('actor', 'add', 'helper', '--cli', 'true');
      await host.run('actor', 'set', 'worker', 'timeout=5m');
    }
    return 'y';
  };
  const added = await host.runWith({ ask }, 'actor', 'add', 'worker', '--cli', 'echo new');
  expect(added.code).toBe(0);
  expect(hostText(host)).toContain('helper');
  expect(hostText(host)).toContain('cli: echo new\n      timeout: 5m\n');
});

it('what others wrote forges no line of a list', async () => {
  const host = await setUp();
  const esc = '\\e[2J\\nfront  worker  this machine';
  host.edit({
    'hosts/other.md': `---\nalias: other\nhostname: "x${esc}"\nactors: {}\n---\n`,
    'local/actors/worker.md': `---\nname: worker\ndescription: "y${esc}"\n---\n\nz\u001b[2J\n`,
  });
  for (const [argv, lines] of [
    [['host', 'list'], 2],
    [['actor', 'list'], 1],
    [['actor', 'show', 'worker'], 6],
  ] as const) {
    const { out } = await host.run(...argv);
    expect(out).not.toContain('\u001b');
    expect(out.trimEnd().split('\n')).toHaveLength(lines);
  }
});

it('actor set checks the folder in which an actor is to work', async () => {
  const host = await setUp();
  for (const dir of ['/no/such/folder', host.dir]) {
    const { code, err } = await host.run('actor', 'set', 'worker', `workdir=${dir}`);
    expect([code, err.trim().split('\n').length]).toEqual([2, 1]);
  }
  expect(hostText(host)).not.toContain('workdir');
});

it(
  'actor add with a count adds numbered actors that no other host serves, and adds nothing when repeated',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { 'worker-2': 'echo mine' });
    const back = await bus.host('back', { idle: 'true' });
    const add = (count: string): Promise<Ran> =>
      back.run('actor', 'add', 'worker', '--cli', 'cat', '--count', count);
    expect((await add('2')).out).toBe(
      [
        'back serves worker-1, run by: cat',
        'Profile to fill in: local/actors/worker-1.md',
        'back serves worker-3, run by: cat',
        'Profile to fill in: local/actors/worker-3.md\n',
      ].join('\n'),
    );
    const shipped = onBus(back, 'upstream/actors/worker.md');
    expect(onBus(back, 'local/actors/worker-3.md')).toBe(
      shipped.replace('name: worker\n', 'name: worker-3\n'),
    );
    const before = git(bus.hub, 'rev-parse', 'main');
    expect((await add('2')).out).not.toContain('Profile');
    expect(git(bus.hub, 'rev-parse', 'main')).toBe(before);
    const tasks = await Promise.all(
      ['worker-1', 'worker-3'].map((name) => front.send(name, 'part')),
    );
    expect(tasks).toHaveLength(2);
    await back.once();
    expect(bus.from('worker-3').map(({ message }) => message.re)).toEqual([[tasks[1]]]);
    for (const count of ['0', 'few', '51'])
      expect(await add(count)).toMatchObject({ code: 2, out: '' });
    const listed = JSON.parse((await front.run('actor', 'list', '--json')).out) as {
      name: string;
    }[];
    expect(listed.map(({ name }) => name)).toEqual(['idle', 'worker-1', 'worker-2', 'worker-3']);
  },
);

it('actor set says what each option does, and warns of somebody who is to decide and never wrote', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const help = (await host.run('actor', 'set', '--help')).out;
  for (const option of TIER_OPTIONS) expect(help).toMatch(new RegExp(`^ +${option} +\\w.*$`, 'm'));
  const set = async (): Promise<string> => {
    const ran = await host.run('actor', 'set', 'worker', 'gate=dora', 'gate_plan=true');
    expect(ran.code, ran.err).toBe(0);
    return ran.err;
  };
  expect(await set()).toBe(
    'crosstalk actor set: nobody called "dora" has written here yet: only somebody who writes under that name can decide; say gate=asker for whoever asks\n',
  );
  await host.send('worker', 'hello', '--from', 'dora');
  expect(await set()).toBe('');
});

it('changes of one host file at the same moment are made one after another', async () => {
  const host = await new Bus().host('front', { worker: 'true', other: 'true' });
  const ran = await Promise.all([
    host.run('actor', 'set', 'worker', 'count=2'),
    host.run('actor', 'set', 'other', 'timeout=30m'),
    host.run('actor', 'add', 'third', '--cli', 'true'),
  ]);
  expect(ran.map(({ code, err }) => [code, err])).toEqual([0, 0, 0].map((code) => [code, '']));
  const text = hostText(host);
  for (const part of ['count: 2', 'timeout: 30m', 'third:']) expect(text).toContain(part);
  expect((await host.run('host', 'show')).out).not.toContain('Held');
});
