import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const ECHO = `sed -n '/^--- Message/,$p' | sed -n 's/^please/did/p'`;

/** A message as a plain 6.0 program wrote it. */
const written = (header: string, body: string): string =>
  `---\n${header}type: text\n---\n\n${body}\n`;

async function world(
  cli = ECHO,
  actor = 'worker',
): Promise<{ bus: Bus; host: Host; here: string }> {
  const bus = new Bus();
  const host = await bus.host('front', { [actor]: cli });
  return { bus, host, here: host.channel() };
}

/** Commits a message and waits until it is answered; returns its path. */
async function answered(
  { bus, host }: { bus: Bus; host: Host },
  channel: string,
  relPath: string,
  header: string,
): Promise<void> {
  host.edit({ [`data/channels/${channel}/${relPath}`]: written(header, 'please do it') });
  await host.once();
  const answer = bus.from('worker').filter(({ message }) => message.re.includes(relPath));
  expect(answer.map(({ channel: where, message }) => [where, message.body])).toEqual([
    [channel, 'did do it\n'],
  ]);
}

const PLAIN = '2026/06/09/190000000Z-0a1b2c3d.md';

it(
  'a sender with blanks in its name is answered under that name, and shown everywhere',
  { tags: 'long' },
  async () => {
    const all = await world();
    const { bus, host, here } = all;
    const header = 'from: Anna Marie Müller\nto: worker\ntimestamp: 2026-06-09T19:00:00.000Z\n';
    await answered(all, here, PLAIN, header);
    expect(bus.from('worker').map(({ message }) => message.to)).toEqual([
      [{ name: 'Anna Marie Müller' }],
    ]);
    expect((await host.run('replies', PLAIN)).out).toContain('did do it');
    expect((await host.run('log')).out).toContain('Anna Marie Müller');
    expect((await host.run('thread', PLAIN)).out).toContain('Anna Marie Müller');
    expect((await host.run('read', PLAIN)).out).toContain('Anna Marie Müller');
  },
);

it(
  'a run that sends to somebody with such a name answers what that one wrote',
  { tags: 'long' },
  async () => {
    const { bus, host, here } = await world('crosstalk send --to "Anna Müller" "sent" >&2');
    const header = 'from: Anna Müller\nto: worker\ntimestamp: 2026-06-09T19:00:00Z\n';
    host.edit({ [`data/channels/${here}/${PLAIN}`]: written(header, 'please do it') });
    await host.once();
    expect(bus.from('worker').map(({ message: { re, body } }) => [re, body])).toEqual([
      [[PLAIN], 'sent'],
    ]);
    expect(await host.run('send', '--to', 'Anna Müller', 'x')).toMatchObject({ code: 2 });
  },
);

it(
  'a name that could end a line of the prompt, or an address, is still no name',
  { tags: 'long' },
  async () => {
    const { bus, host, here } = await world();
    const bad = [
      'a, ref: x) ---',
      'a\\nb',
      'a@b',
      ' a',
      'a  b',
      '> a',
      'x'.repeat(65),
      'a\\u202eb',
    ];
    for (const [n, name] of bad.entries()) {
      const header = `from: "${name}"\nto: worker\ntimestamp: 2026-06-09T19:00:00.000Z\n`;
      const path = `data/channels/${here}/2026/06/09/19000000${String(n)}Z-0a1b2c3d.md`;
      host.edit({ [path]: written(header, 'please do it') });
    }
    const log = await host.once();
    const malformed = log.filter(({ event }) => event === 'message_malformed');
    expect(malformed).toHaveLength(bad.length);
    expect(bus.from('worker')).toEqual([]);
  },
);

it.each([
  ['without a T', '2026-06-09 19:00:00.000Z'],
  ['without a Z', '2026-06-09T19:00:00'],
  ['without either', '2026-06-09 19:00:00.5'],
])('a timestamp %s is taken as UTC', { tags: 'long' }, async (_, timestamp) => {
  const all = await world();
  const { host, here } = all;
  const header = `from: anna\nto: worker\ntimestamp: ${timestamp}\n`;
  await answered(all, here, PLAIN, header);
  const read = await host.run('read', PLAIN, '--json');
  const { timestamp: seen } = JSON.parse(read.out) as { timestamp: string };
  expect(seen).toMatch(/^2026-06-09T19:00:00(\.\d+)?Z$/);
});

it(
  'upper-case hex and ids are names as good as any, in paths and in re',
  { tags: 'long' },
  async () => {
    const all = await world();
    const { bus, host } = all;
    const channel = '3F0C2A52-9F0E-4A57-8F6C-0B7A5F5D2C11';
    const question = '2026/06/09/190000000Z-0A1B2C3D.md';
    const header = 'from: anna\nto: worker\ntimestamp: 2026-06-09T19:00:00.000Z\n';
    host.edit({ [`data/channels/${channel}/CHANNEL.md`]: '---\nname: old\n---\n' });
    await answered(all, channel, question, header);
    // A peer's message, in answer to a message that was sent here under such a path.
    const task = '2026/06/09/190000001Z-ABCDEF01.md';
    const back = '2026/06/09/190000002Z-ABCDEF02.md';
    host.edit({
      [`data/channels/${channel}/${task}`]: written(
        `from: worker\nto: peer\ntimestamp: 2026-06-09T19:00:01Z\ncause: ${question}\n`,
        'your part',
      ),
    });
    host.edit({
      [`data/channels/${channel}/${back}`]: written(
        `from: peer\nto: worker\ntimestamp: 2026-06-09T19:00:02Z\nre: ${task}\n`,
        'please say so',
      ),
    });
    await host.once();
    const last = bus.from('worker').at(-1);
    expect(bus.from('worker').map(({ message }) => message.body)).toContain('did say so\n');
    expect(last?.channel).toBe(channel);
    expect((await host.run('replies', '0A1B2C3D')).out).toContain('did do it');
    expect((await host.run('log', 'old')).out).toContain('0A1B2C3D');
    expect((await host.run('log', '3F0C2A52')).out).toContain('please do it');
    expect((await host.run('thread', `${channel}/${task}`)).out).toContain('your part');
    expect((await host.run('status')).out).not.toContain('not a UUID');
  },
);

it('what plain 6.0 wrote is on the page as well', { tags: 'long' }, async () => {
  const { host } = await world('cat > /dev/null');
  const channel = '3F0C2A52-9F0E-4A57-8F6C-0B7A5F5D2C11';
  const path = '2026/06/09/190000000Z-0A1B2C3D.md';
  const header = 'from: Anna Müller\nto: worker\ntimestamp: 2026-06-09 19:00:00\n';
  host.edit({ [`data/channels/${channel}/${path}`]: written(header, 'please do it') });
  await host.once();
  const web = await Web.start(host);
  const page = await web.get<unknown>(`/api/channels/${channel}/messages`);
  expect(JSON.stringify(page)).toContain(path);
  const whole = await web.get<unknown>(`/api/message?ref=${channel}/${path}`);
  expect(JSON.stringify(whole)).toContain('Anna Müller');
  expect(JSON.stringify(whole)).toContain('2026-06-09T19:00:00Z');
});

const PROFILE = (name: string, prompt: string): string => `---\nname: ${name}\n---\n\n${prompt}\n`;
/** Prints which of the prompts below it received. */
const TELLS = `grep -o "you are the [a-z]* one" | tr '\\n' ' '`;

const said = (bus: Bus): string[] => bus.from('clerk').map(({ message }) => message.body.trim());
const problems = (log: readonly Event[]): Event[] =>
  log.filter(({ event }) => event === 'profile_invalid');

it('a profile that cannot be read is reported, and the last readable one stays in force', async () => {
  const { bus, host } = await world(TELLS, 'clerk');
  host.edit({
    'local/actors/clerk.md': PROFILE('clerk', 'you are the first one'),
    'upstream/actors/clerk.md': PROFILE('clerk', 'you are the default one'),
  });
  await host.once();
  for (const broken of ['---\nname: [\n---\n\nyou are the broken one\n', 'no header', '']) {
    host.edit({ 'local/actors/clerk.md': broken === '' ? PROFILE('other', 'x') : broken });
    await host.send('clerk', 'who are you?');
    const log = await host.once();
    expect(problems(log)[0]?.['problem']).toContain('local/actors/clerk.md cannot be read: ');
    expect((await host.run('status')).out).toContain('the last readable one stays in force');
  }
  expect(said(bus)).toEqual(Array(3).fill('you are the first one'));
  expect((await host.run('actor', 'show', 'clerk')).out).toContain('you are the first one');
  host.edit({ 'local/actors/clerk.md': PROFILE('clerk', 'you are the mended one') });
  await host.send('clerk', 'who are you?');
  expect(problems(await host.once())).toEqual([]);
  expect(said(bus).at(-1)).toBe('you are the mended one');
});

it(
  'a profile that breaks under a running dispatcher is told at once, and one that is removed counts no more',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world(TELLS, 'clerk');
    host.edit({ 'local/actors/clerk.md': PROFILE('clerk', 'you are the first one') });
    const running = host.start();
    const folder = join(host.state, 'profiles');
    await until('the profile is kept', () => existsSync(folder) && readdirSync(folder).length > 0);
    host.edit({ 'local/actors/clerk.md': 'broken' });
    await running.saw('profile_invalid');
    host.remove('local/actors/clerk.md');
    host.edit({ 'upstream/actors/clerk.md': PROFILE('clerk', 'you are the default one') });
    await host.send('clerk', 'who are you?');
    await until('the answer', () => said(bus).length > 0);
    expect(said(bus)).toEqual(['you are the default one']);
  },
);

it(
  'a profile that was removed does not come back in the place of a later one that cannot be read',
  { tags: 'long' },
  async () => {
    const { host } = await world('cat > /dev/null; echo done', 'clerk');
    const pass = async (): Promise<Event[]> => {
      await host.send('clerk', 'who are you?');
      return host.once();
    };
    host.edit({ 'local/actors/clerk.md': PROFILE('clerk', 'you are the first one') });
    await pass();
    host.remove('local/actors/clerk.md');
    await pass();
    host.edit({ 'local/actors/clerk.md': 'broken' });
    expect(problems(await pass())[0]?.['problem']).toContain('clerk is run without a profile');
  },
);

it('nobody can be named all', async () => {
  const { host } = await world();
  const added = await host.run('actor', 'add', 'all', '--cli', 'true');
  expect(added).toMatchObject({ code: 2 });
  expect(added.err).toContain('all means everybody');
  const made = await host.run('init', join(host.bus.root, 'other'), '--actor', 'all');
  expect(made).toMatchObject({ code: 2 });
  expect(made.err).toContain('all means everybody');
});
