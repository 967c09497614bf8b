import { expect, it } from 'vitest';
import { MessageReader } from '../../src/bus/message-reader.ts';
import { Batches } from '../../src/dispatcher/batches.ts';
import { openTransport } from '../../src/actions/context.ts';
import { Bus } from '../support/bus.ts';
import { byHand, put, tipOf } from '../support/history.ts';

it('an answer that waits while its question is off the bus belongs to that question once it is back', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { boss: 'true' });
  const channel = host.channel();
  const relPathOf = ([path]: readonly [string, string]): string =>
    path.split('/').slice(3).join('/');
  const named = (
    [path, text]: readonly [string, string],
    from: string,
    link: string,
  ): [string, string] => [
    path,
    text.replace('from: alice', `from: ${from}`).replace('---\n\n', `${link}\n---\n\n`),
  ];
  const question = byHand(channel, 1, 'goal', 'boss');
  const part = named(byHand(channel, 2, 'part'), 'boss', `cause: ${relPathOf(question)}`);
  const answer = named(byHand(channel, 3, 'did', 'boss'), 'worker', `re: ${relPathOf(part)}`);
  for (const one of [part, answer]) put(bus, one);
  const without = tipOf(bus);
  put(bus, question);
  const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
  await transport.refresh();
  const reader = new MessageReader(transport);
  const [located] = await reader.messages(without, channel, [relPathOf(answer)]);
  const delivery = { ...located!, actor: 'boss', channel };
  const batches = new Batches(reader);
  const mail = { actor: 'boss', channel, messages: [delivery] };
  expect(batches.fanInOf((await batches.of(without, mail))[0]!)).toBeUndefined();
  const [batch] = await batches.of(tipOf(bus), mail);
  expect(batches.fanInOf(batch!)).toEqual({
    actor: 'boss',
    questions: [`${channel}/${relPathOf(question)}`],
  });
  transport.close();
});
