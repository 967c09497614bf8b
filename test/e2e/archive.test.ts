import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const counting = (file: string, answer: string): string =>
  `cat > /dev/null; echo run >> ${file}; ${answer}`;
const runs = (file: string): number =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
const at = (day: string, n: number): string =>
  `2025/01/${day}/1200000${String(n).padStart(2, '0')}Z-0000000${String(n)}.md`;

interface Old {
  from: string;
  to: string;
  re?: string;
}

/** Messages of January 2025, committed by hand. */
function write(host: Host, messages: Record<string, Old>): void {
  const folder = `data/channels/${host.channel()}`;
  host.edit(
    Object.fromEntries(
      Object.entries(messages).map(([relPath, { from, to, re }]) => [
        `${folder}/${relPath}`,
        `---\nfrom: ${from}\nto: ${to}\ntype: text\ntimestamp: 2025-01-01T10:00:00Z\nhost: front\n${re === undefined ? '' : `re: ${re}\n`}---\n\nabout ${relPath}\n`,
      ]),
    ),
  );
}

const ANSWERED = at('01', 1);
const ANSWER = at('02', 2);
const GOES_ON = at('03', 3);
const WAITING = at('04', 4);

/**
 * A bus with two machines and a past: an answered question, one that is still active, one that
 * waits.
 */
async function world(): Promise<{ bus: Bus; front: Host; back: Host; ran: string }> {
  const bus = new Bus();
  const ran = join(bus.root, 'ran');
  const front = await bus.host('front', { worker: counting(ran, 'echo done') });
  const back = await bus.host('back', { listener: counting(ran, 'true') });
  await front.once('--from-now');
  await back.once('--from-now');
  write(front, {
    [ANSWERED]: { from: 'somebody', to: 'worker' },
    [ANSWER]: { from: 'worker', to: 'somebody', re: ANSWERED },
    [GOES_ON]: { from: 'somebody', to: 'worker' },
    [WAITING]: { from: 'somebody', to: 'stranger' },
    '2026/01/01/120000000Z-0000000f.md': { from: 'worker', to: 'somebody', re: GOES_ON },
  });
  await front.once();
  await back.once();
  return { bus, front, back, ran };
}

const paths = (bus: Bus): string[] => bus.messages().map(({ relPath }) => relPath);

it('archives what has ended, keeps what goes on, and wakes nobody on any host', async () => {
  const { bus, front, back, ran } = await world();
  const asked = await front.send('listener', 'no answer comes');
  await back.send('listener', 'nor here');
  await back.once();
  expect(runs(ran)).toBe(1);
  const before = git(bus.hub, 'rev-parse', 'main').trim();
  const running = front.start();
  await running.saw('tick');
  const bundle = join(bus.root, 'old.bundle');
  const all = paths(bus);

  const done = await front.run('archive', '--before', '2025-06-01', '--bundle', bundle, '--yes');
  expect(done.err).toBe('');
  expect(done.out).toMatch(/1 message before 2025-06-01 waits for an answer; it stays/);
  expect(done.out).toContain(`Archived: 2 messages before 2025-06-01 in ${bundle}`);
  expect(paths(bus)).toEqual(all.filter((path) => ![ANSWERED, ANSWER].includes(path)));
  expect(git(bus.hub, 'rev-list', '--count', 'main').trim()).toBe('1');
  expect(git(bus.hub, 'log', '-1', '--format=%B', 'main')).toContain(
    `Crosstalk-Archived: ${before}`,
  );

  const copy = join(bus.root, 'copy');
  git(bus.root, 'clone', '--quiet', bundle, copy);
  expect(git(copy, 'rev-parse', 'HEAD').trim()).toBe(before);
  expect(existsSync(join(copy, 'data/channels', front.channel(), ANSWER))).toBe(true);

  // The dispatcher that was running, the one that was not, and a command all continue as before.
  await running.saw('epoch_begun');
  const fresh = await back.send('worker', 'one more');
  await running.saw('push_done');
  const log = await back.once();
  expect(log.map(({ event }) => event)).toContain('epoch_begun');
  expect(log.map(({ event }) => event)).not.toContain('cursor_lost');
  expect((await back.run('replies', fresh)).out).toContain('REPLIED');
  expect(runs(ran)).toBe(2);
  expect(git(back.dir, 'rev-parse', 'HEAD')).toBe(git(bus.hub, 'rev-parse', 'main'));
  expect(existsSync(join(back.dir, 'data/channels', front.channel(), ANSWERED))).toBe(false);
  await running.stop();

  // After restoring: the same files, one history, and nobody is woken.
  const now = paths(bus);
  const restored = await back.run('archive', '--restore', bundle);
  expect(restored.out).toBe('Restored: 2 messages\n');
  expect(paths(bus)).toEqual([ANSWERED, ANSWER, ...now].sort());
  expect(git(bus.hub, 'merge-base', '--is-ancestor', before, 'main')).toBe('');
  expect((await back.run('archive', '--restore', bundle)).out).toBe('Restored: 0 messages\n');
  await front.once();
  await back.once();
  expect(runs(ran)).toBe(2);
  expect(paths(bus)).toContain(asked);
});

it('a new machine that joins afterwards finds nothing to do', { tags: 'long' }, async () => {
  const { bus, front, ran } = await world();
  const bundle = join(bus.root, 'old.bundle');
  const args = ['--before', '2025-06-01', '--bundle', bundle, '--yes'];
  expect((await front.run('archive', ...args)).code).toBe(0);
  const again = runs(ran);
  const third = await bus.host('third', { worker: counting(ran, 'echo twice') });
  await third.once();
  expect(runs(ran)).toBe(again);
});

it(
  'takes what waits along only when told so, and counts without doing',
  { tags: 'long' },
  async () => {
    const { bus, front } = await world();
    const all = paths(bus);
    const dry = await front.run(
      'archive',
      '--before',
      '2025-06-01',
      '--with-waiting',
      '--dry-run',
      '--json',
    );
    expect(JSON.parse(dry.out)).toMatchObject({ archived: 3, waiting: 1, kept: 2 });
    expect(paths(bus)).toEqual(all);
    const bundle = join(bus.root, 'old.bundle');
    const unsaid = await front.run('archive', '--before', '2025-06-01', '--bundle', bundle);
    expect([unsaid.code, unsaid.err]).toEqual([2, expect.stringContaining('say so with --yes')]);
    expect(existsSync(bundle)).toBe(false);
  },
);

it(
  'leaves everything as it is where the history cannot be replaced',
  { tags: 'long' },
  async () => {
    const { bus, front } = await world();
    const all = paths(bus);
    const bundle = join(bus.root, 'old.bundle');
    const args = ['archive', '--before', '2025-06-01', '--yes', '--bundle'];
    git(bus.hub, 'config', 'receive.denyNonFastForwards', 'true');
    const refused = await front.run(...args, bundle);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('nothing was changed'),
    ]);
    const inside = await front.run(...args, join(front.dir, 'x.bundle'));
    expect([inside.code, inside.err]).toEqual([2, expect.stringContaining('inside the transport')]);
    git(front.dir, 'fetch', '--quiet', '--depth=1', 'origin', 'main');
    const shallow = await front.run(...args, bundle);
    expect([shallow.code, shallow.err]).toEqual([1, expect.stringContaining('would not be whole')]);
    expect(existsSync(bundle)).toBe(false);
    expect(paths(bus)).toEqual(all);
  },
);

it(
  'brings back messages, and no file that has the name of a folder with mail',
  { tags: 'long' },
  async () => {
    const { bus, front } = await world();
    const stray = `data/channels/${front.channel()}/2025/02`;
    front.edit({ [stray]: 'stray\n' });
    const bundle = join(bus.root, 'old.bundle');
    await front.run(
      'archive',
      '--before',
      '2025-03-01',
      '--bundle',
      bundle,
      '--with-waiting',
      '--yes',
    );
    front.remove(stray);
    const late = '2025/02/03/120000009Z-00000009.md';
    write(front, { [late]: { from: 'somebody', to: 'stranger' } });
    const restored = await front.run('archive', '--restore', bundle);
    expect(restored.out).toMatch(/^Restored: \d+ messages?$/m);
    expect(paths(bus)).toEqual(expect.arrayContaining([late, ANSWERED, WAITING]));
  },
);

it('says what is wrong with a day or a bundle', { tags: 'long' }, async () => {
  const { front, bus } = await world();
  for (const [args, said] of [
    [['--before', '2025-6-1', '--dry-run'], 'is no day in the past'],
    [['--before', '2999-01-01', '--dry-run'], 'is no day in the past'],
    [['--before', '2025-06-01', '--yes'], 'give --bundle <file>'],
    [['--restore', join(bus.root, 'none')], 'no bundle at'],
    [['--restore', join(front.dir, 'CLAUDE.md')], 'is no archive of a transport'],
    [[], 'either --before <date> or --restore <bundle>'],
  ] as const) {
    const ran = await front.run('archive', ...args);
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(said)]);
  }
});
