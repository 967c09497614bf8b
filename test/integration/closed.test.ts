// @module-tag long
import { expect, it } from 'vitest';
import { withContext, type Context } from '../../src/operations/context.ts';
import { Bus } from '../support/bus.ts';
import { tipOf } from '../support/history.ts';

it('once a transport is closed git is not started anew for it, also where its checkout was being planned', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { clerk: 'true' });
  const other = await bus.host('back', { painter: 'true' });
  await other.send('clerk', 'news');
  const { env, dir } = host;
  const open = { transport: dir, note: () => undefined };
  const opened: Context[] = [];
  await withContext({ env: { ...process.env, ...env }, cwd: dir }, open, async (context) => {
    opened.push(context);
    await context.transport.refresh();
    context.checkout.planAhead(tipOf(bus));
  });
  const [context] = opened;
  const before = context?.transport.cost;
  await context?.checkout.planned();
  expect(context?.transport.cost).toEqual(before);
  expect(before?.reads).toBeGreaterThan(0);
});
