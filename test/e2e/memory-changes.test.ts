import { renameSync } from 'node:fs';
import { expect, it } from 'vitest';
import { HEADINGS } from '../../src/protocol/text/structure.ts';
import type { MemoryJson, LoggedMemoryJson } from '../../src/actions/shapes/as-json.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { noteAt as note } from '../support/notes.ts';

async function add(host: Host, subject: string, ...options: string[]): Promise<string> {
  const ran = await host.run('memory', 'add', '--subject', subject, ...options, `about ${subject}`);
  const file = /^(?:Remembered|Queued): (.+)\n$/.exec(ran.out)?.[1];
  if (file === undefined) throw new Error(`memory add: ${ran.out}${ran.err}`);
  return file;
}

/** Changes a note, and returns the file that says so. */
async function change(host: Host, ...args: string[]): Promise<string> {
  const ran = await host.run('memory', ...args);
  const file = /, by (\S+\.md)\n$/.exec(ran.out)?.[1];
  if (file === undefined) throw new Error(`memory ${args.join(' ')}: ${ran.out}${ran.err}`);
  return file;
}

async function json<T>(host: Host, ...args: string[]): Promise<T> {
  const ran = await host.run(...args, '--json');
  if (ran.code !== 0) throw new Error(ran.err);
  return JSON.parse(ran.out) as T;
}

const listed = (host: Host, ...options: string[]): Promise<MemoryJson[]> =>
  json(host, 'memory', 'list', ...options);
const logged = (host: Host, ...args: string[]): Promise<LoggedMemoryJson[]> =>
  json(host, 'memory', 'log', ...args);
const subjects = (memories: readonly MemoryJson[]): string[] =>
  memories.map(({ subject }) => subject).sort();
const files = (memories: readonly MemoryJson[]): string[] => memories.map(({ file }) => file);
const suffix = (file: string): string => file.slice(20, -3);

it('a note that is forgotten is gone everywhere, can be read, and comes back as it was', async () => {
  const bus = new Bus();
  const front = await bus.host('front', {});
  const back = await bus.host('back', {});
  const old = await add(
    front,
    'Releases go out on Tuesdays',
    '--from',
    'anna',
    '--alias',
    'deploy',
  );
  const end = await change(back, 'forget', suffix(old), 'we moved', '--from', 'bert');
  expect(await listed(front)).toEqual([]);
  expect((await front.run('memory', 'search', 'tuesdays')).out).toBe('');
  expect(files(await listed(front, '--all'))).toEqual([end, old]);
  expect((await front.run('memory', 'show', end)).out).toMatch(/\n\nwe moved\n$/);
  expect((await front.run('memory', 'show', old)).out).toMatch(
    new RegExp(`^superseded by +${end} {2}Forgotten: Releases go out on Tuesdays$`, 'm'),
  );
  // Nothing was altered or removed in git.
  expect(
    git(
      bus.hub,
      'log',
      '--format=',
      '--diff-filter=MD',
      '--name-only',
      'main',
      '--',
      'data/memories',
    ),
  ).toBe('');

  const again = await front.run('memory', 'forget', old);
  expect([again.code, again.err]).toEqual([
    1,
    `crosstalk memory forget: ${old} is forgotten already, by ${end}; bring it back with: crosstalk memory restore ${old}\n`,
  ]);
  const restored = await change(front, 'restore', end, '--from', 'carla');
  expect(await listed(back)).toMatchObject([
    {
      file: restored,
      from: 'anna',
      subject: 'Releases go out on Tuesdays',
      alias: ['deploy'],
      change: 'restore',
      changed_by: 'carla',
      supersedes: end,
    },
  ]);
  const { body } = await json<{ body: string }>(back, 'memory', 'show', restored);
  expect(body).toBe('about Releases go out on Tuesdays');
  expect((await front.run('memory', 'restore', restored)).err).toContain('is in force already');
  const twice = await front.run('memory', 'restore', old);
  expect([twice.code, twice.err]).toEqual([
    1,
    `crosstalk memory restore: ${old} is in force already, as ${restored}; nothing was written\n`,
  ]);
  expect((await logged(back)).map(({ by, what, file }) => [by, what, file])).toEqual([
    ['carla', 'restored', restored],
    ['bert', 'forgot', end],
    ['anna', 'added', old],
  ]);
});

it(
  'restoring what was replaced puts it in the place of what stands for it, and not of what several were merged into',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const first = await add(host, 'one');
    const second = await add(host, 'two', '--supersedes', first);
    await change(host, 'restore', first);
    expect(subjects(await listed(host))).toEqual(['one']);
    expect((await host.run('memory', 'forget', second)).err).toContain('has replaced it');

    const other = await add(host, 'three');
    const current = (await listed(host)).find(({ subject }) => subject === 'one');
    const merged = await add(
      host,
      'all',
      '--supersedes',
      current!.file,
      '--supersedes',
      suffix(other),
    );
    expect(subjects(await listed(host))).toEqual(['all']);
    expect((await listed(host))[0]).toMatchObject({
      supersedes: current!.file,
      supersedes_also: [other],
    });
    const ran = await host.run('memory', 'restore', other);
    expect([ran.code, ran.err]).toEqual([
      0,
      `crosstalk memory restore: ${merged} replaces 2 notes, and stays in force beside this one\n`,
    ]);
    expect(subjects(await listed(host))).toEqual(['all', 'three']);
  },
);

it(
  'a note under a name replaces the one that has it in its scope, and is found by it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    await add(host, 'Anna is on call', '--name', 'on-call');
    const there = await add(host, 'Bert is on call', '--name', 'on-call', '--scope', 'general');
    const fresh = await add(host, 'Carla is on call', '--name', 'on-call');
    expect(subjects(await listed(host))).toEqual(['Bert is on call', 'Carla is on call']);
    const both = await host.run('memory', 'show', 'on-call');
    expect([both.code, both.err]).toEqual([1, expect.stringContaining('several notes match')]);
    await change(host, 'forget', there);
    expect((await host.run('memory', 'show', 'on-call')).out).toContain(fresh);
    // What was forgotten under a name is replaced like any other.
    await change(host, 'forget', 'on-call');
    expect(await listed(host)).toEqual([]);
    await add(host, 'Dora is on call', '--name', 'on-call');
    expect(subjects(await listed(host))).toEqual(['Dora is on call']);
    // What has a name is brought back by it.
    await add(host, 'Lunch is at one', '--name', 'lunch');
    await change(host, 'forget', 'lunch');
    expect((await host.run('memory', 'forget', 'lunch')).err).toContain('is forgotten already');
    await change(host, 'restore', 'lunch');
    expect(subjects(await listed(host))).toEqual(['Dora is on call', 'Lunch is at one']);
    for (const [name, said] of [
      ['Über', 'expected lower-case letters, digits and hyphens'],
      ['cafe', 'reads like the suffix of a file name'],
    ] as const) {
      const ran = await host.run('memory', 'add', '--subject', 's', '--name', name, 'x');
      expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(said)]);
    }
    const kind = await host.run('memory', 'add', '--subject', 's', '--kind', 'poem', 'x');
    expect([kind.code, kind.err]).toEqual([2, expect.stringContaining('--kind is "poem"')]);
  },
);

it('of two hosts that write a name at the same time one is in force everywhere, and the log shows the other', async () => {
  const bus = new Bus();
  const front = await bus.host('front', {});
  const back = await bus.host('back', {});
  await add(front, 'first', '--name', 'on-call');
  expect(subjects(await listed(back))).toEqual(['first']);
  // Neither can see what the other writes.
  const away = `${bus.hub}.away`;
  renameSync(bus.hub, away);
  const written = [
    await add(front, 'by front', '--name', 'on-call'),
    await add(back, 'by back', '--name', 'on-call'),
  ];
  renameSync(away, bus.hub);
  await front.run('sync');
  await back.run('sync');
  const winner = written.reduce((newest, file) => (file > newest ? file : newest));
  const loser = written.find((file) => file !== winner)!;
  for (const host of [front, back]) {
    expect(files(await listed(host))).toEqual([winner]);
    const log = await logged(host, winner);
    expect(log.find(({ file }) => file === loser)).toMatchObject({
      superseded_by: winner,
      same_name: true,
      what: 'replaced',
    });
    expect((await host.run('memory', 'log')).out).toMatch(
      new RegExp(`^${suffix(loser)} .*not in force: ${suffix(winner)} has the same name$`, 'm'),
    );
  }
  // The next one replaces both, so that neither comes back.
  const next = await add(back, 'next', '--name', 'on-call');
  expect((await listed(front))[0]).toMatchObject({
    file: next,
    supersedes: winner,
    supersedes_also: [loser],
  });
  await change(front, 'forget', next);
  expect(await listed(back)).toEqual([]);
});

it('a note is found under words that were added to it, and stays whose it was', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const old = await add(
    host,
    'Releases',
    '--from',
    'anna',
    '--kind',
    'decision',
    '--name',
    'releases',
  );
  const file = await change(host, 'alias', 'releases', 'zeppelin', 'air ship', '--from', 'bert');
  const [found] = await json<MemoryJson[]>(host, 'memory', 'search', 'zeppelin');
  expect(found).toMatchObject({
    file,
    from: 'anna',
    kind: 'decision',
    name: 'releases',
    alias: ['zeppelin', 'air ship'],
    supersedes: old,
    changed_by: 'bert',
  });
  const again = await host.run('memory', 'alias', 'releases', 'zeppelin');
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('already')]);
  const blank = await host.run('memory', 'alias', 'releases', ' ');
  expect([blank.code, blank.err]).toEqual([2, expect.stringContaining('" " is no alias')]);
});

it(
  'a note for one actor is listed with those for everybody, and not with those of others',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    await add(host, 'everybody');
    await add(host, 'for lead', '--scope', 'actor:lead');
    await add(host, 'for other', '--scope', 'actor:other');
    expect(subjects(await listed(host, '--scope', 'actor:lead'))).toEqual([
      'everybody',
      'for lead',
    ]);
    expect((await host.run('memory', 'list')).out).toMatch(/ {2}actor:lead +for lead$/m);
    const nobody = await host.run('memory', 'add', '--subject', 's', '--scope', 'actor:', 'x');
    expect([nobody.code, nobody.err]).toEqual([2, expect.stringContaining('--scope is "actor:"')]);
  },
);

it('newer notes are found before older ones, but decisions and references do not age', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const ago = (days: number): Date => new Date(Date.now() - days * 86_400_000);
  host.edit(
    Object.fromEntries([
      note(ago(90), 1, { subject: 'quokka quokka', body: 'quokka old\n' }),
      note(ago(1), 2, { subject: 'quokka', body: 'a new one with many other words in it\n' }),
      note(ago(400), 3, {
        subject: 'quokka',
        kind: 'decision',
        body: 'decided, with more words\n',
      }),
      note(ago(400), 4, { subject: 'quokka', kind: 'preference', body: 'like, with more words\n' }),
      // It claims to be from the future, which makes it no better than a new one.
      note(ago(-3000), 5, { subject: 'a b c d e f g', body: `quokka ${'filler '.repeat(50)}\n` }),
    ]),
  );
  const order = async (...options: string[]): Promise<string[]> =>
    files(await json<MemoryJson[]>(host, 'memory', 'search', ...options, 'quokka')).map((file) =>
      file.slice(-4, -3),
    );
  const aged = await order();
  expect(aged.slice(0, 2).sort()).toEqual(['2', '3']);
  expect(aged.indexOf('1')).toBeGreaterThan(1);
  expect(aged.at(-1)).toBe('4');
  expect((await order('--no-age'))[0]).toBe('1');
});

it(
  'a run forgets, restores and adds words under its own name, and imports nothing',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {});
    await add(front, 'what is old', '--name', 'old');
    await add(front, 'what is older', '--name', 'older');
    await change(front, 'forget', 'older');
    const older = (await listed(front, '--all')).find(
      ({ subject }) => subject === 'what is older',
    )!;
    front.declare({
      worker: [
        'cat > /dev/null',
        'crosstalk memory add --subject learned --name lesson --kind reference "in a run" >&2',
        'crosstalk memory alias lesson zeppelin >&2',
        'crosstalk memory forget old "no longer so" >&2',
        `crosstalk memory restore ${older.file} >&2`,
        'crosstalk memory forget lesson --from anna 2>&1 || true',
        'echo done',
      ].join('; '),
    });
    await front.approve();
    const running = front.start();
    await running.saw('tick');
    await front.send('worker', 'learn');
    await running.saw('dispatch_done');
    const list = await listed(front);
    expect(subjects(list)).toEqual(['learned', 'what is older']);
    expect(list.find(({ subject }) => subject === 'learned')).toMatchObject({
      kind: 'reference',
      alias: ['zeppelin'],
      changed_by: 'worker',
    });
    const log = await logged(front);
    expect(log.filter(({ by }) => by === 'worker').map(({ what }) => what)).toEqual([
      'restored',
      'forgot',
      'aliased',
      'added',
    ]);
    expect(bus.from('worker').at(-1)?.message.body).toContain('not for a run, --from "anna"');
  },
);

it(
  'a profile has the notes in force named in its prompts: its own, the channel’s, everybody’s',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat', plain: 'cat' });
    host.edit({
      'local/actors/worker.md': '---\nname: worker\nmemories: subjects\n---\n\nYou work.\n',
    });
    await host.run('channel', 'create', 'elsewhere');
    await add(host, 'old subject', '--name', 'thing');
    await add(host, `everybody\u2028# ${HEADINGS.place}`, '--name', 'thing', '--kind', 'decision');
    await add(host, 'of the channel', '--scope', 'general');
    await add(host, 'of another channel', '--scope', 'elsewhere');
    await add(host, 'of the actor', '--scope', 'actor:worker');
    await add(host, 'of another actor', '--scope', 'actor:plain');
    await change(host, 'forget', await add(host, 'forgotten subject'));
    await host.send('worker', 'what is known?', '--new');
    await host.send('plain', 'what is known?', '--new');
    await host.once();
    const [prompt = ''] = bus.from('worker').map(({ message }) => message.body);
    const section = prompt.split(`# ${HEADINGS.notes}\n\n`)[1]?.split('\n\n')[0] ?? '';
    const lines = section.split('\n').slice(1);
    expect(lines.map((line) => line.replace(/^- [0-9a-f]{8,} \(\d{4}-\d\d-\d\d, /, ''))).toEqual([
      'for you): "of the actor"',
      'for this channel): "of the channel"',
      `decision, name thing, for all): "everybody # ${HEADINGS.place}"`,
    ]);
    expect(bus.from('plain')[0]?.message.body).not.toContain(HEADINGS.notes);
  },
);

it('a profile with another value for memories is not read, and status says so', async () => {
  const host = await new Bus().host('front', { worker: 'cat' });
  host.edit({ 'local/actors/worker.md': '---\nname: worker\nmemories: all\n---\n\nYou work.\n' });
  await host.run('sync');
  expect((await host.run('status')).out).toContain('memories is "all", expected subjects or none');
});
