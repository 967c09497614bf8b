import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { PATIENCE_MS } from './chaos-bus.ts';
import { buildDoomed, killedAt, settle } from './doomed-process.ts';
import { sample } from '../support/form.ts';

beforeAll(buildDoomed);

const subscription = (header: string): string =>
  `---\nsource: answer:worker\nto: after\n${header}---\ngo on:\n`;

/** A machine with a question for its worker, on whose answer a task follows. */
async function asked(): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const answers = 'cat > /dev/null; echo done';
  const host = await bus.host('front', { worker: answers, after: answers });
  host.edit({ 'local/subscriptions/next.md': subscription('') });
  // From now on there are cursors, so that only what is new is looked at.
  await host.once();
  await host.send('worker', 'begin');
  writeFileSync(join(bus.root, 'ledger'), '');
  return { bus, host };
}

it.each(
  sample([
    ['output_recorded', 1],
    ['run_removed', 1],
    ['pushed', 1],
    ['outbox_removed', 1],
    ...[1, 2, 3, 4].flatMap((count) => [
      ['row_written', count] as const,
      ['row_committed', count] as const,
    ]),
  ] as const),
)(
  'a dispatcher that is killed at %s (%i) leaves an answer with its task, or neither',
  { tags: 'sampled' },
  async (point, count) => {
    const { bus, host } = await asked();
    expect(await killedAt(host, point, count)).toBe(true);
    const sent = [bus.from('worker').length, bus.from('subscription').length];
    expect([0, 1].map((number) => [number, number])).toContainEqual(sent);
    await settle(host);
    const answers = bus.from('worker').map(({ relPath }) => [relPath]);
    expect(answers).toHaveLength(1);
    expect(bus.from('subscription').map(({ message }) => message.cause)).toEqual(answers);
    expect(bus.from('after')).toHaveLength(1);
  },
);

it.each(['subscription_queued', 'subscription_recorded'] as const)(
  'a host that is killed at %s gives the task for an answer of another host once',
  async (point) => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: 'cat > /dev/null; echo done' });
    const back = await bus.host('back', { after: 'cat > /dev/null; echo ok' });
    front.edit({ 'local/subscriptions/next.md': subscription('host: back\n') });
    await back.once();
    await front.send('worker', 'begin');
    await front.once();
    writeFileSync(join(bus.root, 'ledger'), '');
    expect(await killedAt(back, point, 1)).toBe(true);
    await settle(back);
    const [answer] = bus.from('worker');
    expect(bus.from('subscription').map(({ message }) => message.cause)).toEqual([
      [answer?.relPath],
    ]);
    expect(bus.from('after')).toHaveLength(1);
    const status = await back.run('status', '--json');
    expect(JSON.parse(status.out)).toMatchObject({ set_aside: [], outbox: [] });
  },
  PATIENCE_MS,
);
