// @module-tag long
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Housekeeping } from '../../src/dispatcher/serve.ts';
import { openTransport } from '../../src/actions/context.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

it('a checkout that was held up is brought along a minute later, although nothing new has come', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const other = await bus.host('back', {});
  await other.send('worker', 'hello');
  const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
  await transport.refresh();
  const tip = await transport.tip();
  const at = (): string => git(host.dir, 'rev-parse', 'HEAD').trim();
  expect(at()).not.toBe(tip);

  let now = Date.now();
  let rounds = 0;
  const lock = join(host.dir, '.git', 'index.lock');
  writeFileSync(lock, '');
  const maintain = transport.maintain.bind(transport);
  transport.maintain = () => {
    rounds++;
    return maintain();
  };
  const app = { transport, now: () => new Date(now), log: () => undefined };
  const housekeeping = new Housekeeping(app, { once: true });
  housekeeping.follow(tip);
  await until('the first round', () => rounds === 1);
  rmSync(lock);
  now += 59_000;
  for (let tick = 0; tick < 10; tick++) housekeeping.follow(tip);
  await sleep(200);
  expect(at()).not.toBe(tip);
  now += 1000;
  housekeeping.follow(tip);
  await until('the checkout', () => at() === tip);
  // There was nothing else to do for it.
  expect(rounds).toBe(1);
  await housekeeping.finish();
  transport.close();
});
