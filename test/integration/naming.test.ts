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
