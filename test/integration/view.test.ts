// @module-tag long
import { expect, it } from 'vitest';
import { withContext } from '../../src/actions/context.ts';
import { overview } from '../../src/actions/page/overview.ts';
import { Recent } from '../../src/actions/page/recent.ts';
import { Bus } from '../support/bus.ts';
import { tipOf } from '../support/history.ts';

/** Recent messages, after which news comes in before anything else is read. */
class Late extends Recent {
  news: () => Promise<unknown> = () => Promise.resolve();

  override async traces(): ReturnType<Recent['traces']> {
    const known = await super.traces();
    await this.news();
    return known;
  }
}

it('an answer of the page shows one commit in all its parts, also when news comes in while it is given', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { clerk: 'true' });
  const question = await host.send('clerk', 'the first');
  const { env, dir } = host;
  const open = { transport: dir, note: () => undefined };
  await withContext({ env: { ...process.env, ...env }, cwd: dir }, open, async (context) => {
    const before = tipOf(bus);
    const recent = new Late(context);
    recent.news = async () => {
      recent.news = () => Promise.resolve();
      const other = await bus.host('back', { painter: 'true' });
      await other.send('clerk', 'the second');
      await context.transport.refresh();
    };
    const now = await overview(context, recent);
    expect(tipOf(bus)).not.toBe(before);
    expect(now.tip).toBe(before);
    expect(now.hosts.map(({ alias }) => alias)).toEqual(['front']);
    expect(now.actors.map(({ name }) => name)).not.toContain('painter');
    expect(now.waiting.messages.map(({ relPath }) => relPath)).toEqual([question]);

    const later = await overview(context, recent);
    expect(later.tip).toBe(await context.transport.tip());
    expect(later.hosts.map(({ alias }) => alias)).toEqual(['back', 'front']);
    expect(later.waiting.total).toBe(2);
  });
});
