import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';

it('a copy of a message in another channel is not in the way of the original', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const question = await host.send('worker', 'hello', '--channel', 'general');
  const channel = host.channel();
  const other = 'aaaaaaaa-0000-4000-8000-000000000000';
  const content = git(bus.hub, 'show', `main:data/channels/${channel}/${question}`);
  host.edit({ [`data/channels/${other}/${question}`]: content.replace('hello', 'forged') });
  await host.once();
  for (const name of [question, question.slice(-15, -3)]) {
    const replied = await host.run('replies', '--wait', '--timeout', '100', name);
    expect(replied).toMatchObject({ code: 0 });
    expect(replied.out).toContain(`REPLIED ${question}`);
    expect(replied.err).toContain(`stands in 2 channels; the first is meant: ${channel}`);
  }
  const { out } = await host.run('read', `${other}/${question}`);
  expect(out).toContain('forged');
});

it('a channel that is called like the beginning of an id takes no mail of the channel with that id', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const prefix = host.channel().slice(0, 8);
  const other = 'aaaaaaaa-0000-4000-8000-000000000000';
  host.edit({
    [`data/channels/${other}/CHANNEL.md`]: `---\nname: "${prefix}"\ncreated_by: x\ncreated_at: 2026-06-09T10:00:00Z\n---\n`,
  });
  await host.news();
  const refused = await host.run('send', '--to', 'worker', '--channel', prefix, 'secret');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain(`several channels match "${prefix}"`);
  await host.send('worker', 'hello', '--channel', host.channel());
  await host.send('worker', 'hello', '--channel', 'general');
  expect(bus.messages().map(({ channel }) => channel)).not.toContain(other);
});

const DOUBLE = '00000000-0000-4000-8000-000000000000';
const GENERAL = '---\nname: general\ncreated_by: eve\ncreated_at: 2020-01-01T00:00:00Z\n---\n';

it('the name of a channel stays with the first that had it, and doctor names the double', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const general = host.channel();
  // A channel that is older than the name it takes.
  const path = `data/channels/${DOUBLE}/CHANNEL.md`;
  host.edit({ [path]: GENERAL.replace('general', 'old') });
  await host.run('channel', 'create', 'news');
  host.edit({ [path]: GENERAL.replace('general', 'news') });
  host.edit({ [`data/channels/f${DOUBLE.slice(1)}/CHANNEL.md`]: GENERAL });
  await host.news();
  await host.send('worker', 'one', '--channel', 'general');
  await host.send('worker', 'two');
  const news = await host.send('worker', 'three', '--channel', 'news');
  const channels = host.bus.messages().map(({ channel }) => channel);
  expect(channels.filter((channel) => channel === general)).toHaveLength(2);
  expect(channels.some((channel) => channel.endsWith(DOUBLE.slice(1)))).toBe(false);
  expect((await host.run('channel', 'create', 'news')).err).toContain('exists already');
  const { out } = await host.run('doctor');
  expect(out).toContain(`${DOUBLE} is also called "news", a name that another channel had before`);
  expect(out).toContain('crosstalk channel archive <id>');
  expect((await host.run('read', news)).code).toBe(0);
});

it('a name that two lines of the history give away is nobody’s until somebody says which is meant', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const file = `data/channels/${DOUBLE}/CHANNEL.md`;
  const clone = join(bus.root, 'elsewhere');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  git(clone, 'checkout', '--quiet', '--orphan', 'line');
  git(clone, 'rm', '-r', '--quiet', '--force', '.');
  mkdirSync(join(clone, dirname(file)), { recursive: true });
  writeFileSync(join(clone, file), GENERAL);
  git(clone, 'add', file);
  git(clone, 'commit', '--quiet', '-m', 'line');
  git(clone, 'merge', '--quiet', '--allow-unrelated-histories', '-m', 'merge', 'main');
  git(clone, 'push', '--quiet', 'origin', 'HEAD:main');
  await host.news();
  const refused = await host.run('send', '--to', 'worker', '--channel', 'general', 'secret');
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringContaining('several channels match "general"'),
  ]);
  expect((await host.run('doctor')).out).toContain('history does not tell which channel had');
  await host.run('channel', 'archive', DOUBLE);
  await host.send('worker', 'hello', '--channel', 'general');
  expect(bus.messages().map(({ channel }) => channel)).not.toContain(DOUBLE);
});
