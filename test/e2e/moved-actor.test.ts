import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';

it('an actor that is moved to another host during its run is answered once, by the other one', async () => {
  const bus = new Bus();
  const [begun, go] = ['begun', 'go'].map((name) => join(bus.root, name)) as [string, string];
  const front = await bus.host('front', {
    worker: `cat >/dev/null; touch ${begun}; while [ ! -e ${go} ]; do sleep 0.1; done; echo from front`,
    idle: 'true',
  });
  const back = await bus.host('back', { idle: 'true' });
  const running = front.start();
  const question = await front.send('worker', 'do it');
  await until('the run', () => existsSync(begun));
  front.declare({ idle: 'true' });
  expect(await running.saw('dispatch_ended')).toMatchObject({
    actor: 'worker',
    reason: 'unserved',
  });
  back.declare({ worker: 'cat >/dev/null; echo from back', idle: 'true' });
  await back.approve();
  await back.once();
  writeFileSync(go, '');
  // What its old host finds out at the end of a pass has nothing to say any more.
  await running.stop();
  await front.once();
  expect(bus.from('worker').map(({ message }) => [message.re, message.body])).toEqual([
    [[question], 'from back\n'],
  ]);
  expect(running.count('dispatch_failed')).toBe(0);
});

it('actor remove says which run ends with it', { tags: 'long' }, async () => {
  const bus = new Bus();
  const begun = join(bus.root, 'begun');
  const host = await bus.host('front', {
    worker: `cat >/dev/null; touch ${begun}; sleep 60`,
    idle: 'true',
  });
  const running = host.start();
  const question = await host.send('worker', 'do it');
  await until('the run', () => existsSync(begun));
  await until('status knows', async () => (await host.run('status')).out.includes('running'));
  const { out } = await host.run('actor', 'remove', 'worker');
  expect(out).toContain(`Its run for ${question} ends; whoever serves worker is given that\n`);
  await running.saw('dispatch_ended');
});
