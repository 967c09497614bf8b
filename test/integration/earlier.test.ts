import { expect, it } from 'vitest';
import { historyBetween } from '../../src/bus/history.ts';
import { withContext } from '../../src/actions/context.ts';
import { Bus } from '../support/bus.ts';

it('what two have said to each other before a message are the last messages before it, without it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const sent: string[] = [];
  for (const text of ['one', 'two', 'three'])
    sent.push(await host.send('worker', text, '--from', 'anna'));
  await host.send('worker', 'of somebody else', '--from', 'bob');
  await host.run('sync');
  const surroundings = { env: { ...process.env, ...host.env }, cwd: host.dir };
  const found = await withContext(
    surroundings,
    { transport: host.dir, note: () => undefined },
    async (context) =>
      historyBetween(context, {
        ...{ tip: (await context.transport.tip()) ?? '', channel: host.channel() },
        ...{ actor: 'worker', other: 'anna', before: sent[2] ?? '', most: 10 },
      }),
  );
  expect(found.map(({ relPath }) => relPath)).toEqual(sent.slice(0, 2));
});
