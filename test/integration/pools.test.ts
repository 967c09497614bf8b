import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const POOL = '---\nname: worker\ndescription: works\nserve: one\n---\n\nWork.\n';

/** Two hosts that serve a pool, whose profile was there before any message. */
async function pool(cli = 'sleep 0.2; echo done', hosts = 2): Promise<[Bus, ...Host[]]> {
  const bus = new Bus();
  const all: Host[] = [];
  for (const alias of ['ant', 'bee', 'cow', 'dog'].slice(0, hosts)) {
    const tier = { small: { cli, count: 4, retry_delay: '1s' } };
    all.push(await bus.host(alias, { worker: tier }));
  }
  all[0]?.edit({ 'local/actors/worker.md': POOL });
  for (const host of all) await host.once();
  return [bus, ...all];
}

function claims(bus: Bus): string[] {
  const listed = git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/claims');
  return listed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('/').slice(-2).join('/'));
}

function answers(bus: Bus): string[] {
  return bus.from('worker').map(({ message }) => message.body.trim());
}

it('one of two hosts takes each message of a pool, and no other runs it', async () => {
  const [bus, ant, bee] = await pool();
  if (ant === undefined || bee === undefined) throw new Error('no hosts');
  for (const text of ['one', 'two', 'three']) await ant.send('worker', text);
  const [a, b] = await Promise.all([ant.once(), bee.once()]);
  await Promise.all([ant.once(), bee.once()]);
  expect(answers(bus)).toEqual(['done', 'done', 'done']);
  const runs = [...a, ...b].filter(({ event }) => event === 'dispatch_done');
  expect(runs).toHaveLength(3);
  expect(claims(bus).filter((path) => path.endsWith('/1.end.md'))).toHaveLength(3);
  expect(claims(bus)).toHaveLength(6);
}, 120_000);

it('without a pool nothing is claimed', async () => {
  const bus = new Bus();
  const ant = await bus.host('ant', { worker: 'echo done' });
  const bee = await bus.host('bee', { worker: 'echo done' });
  await ant.once();
  await bee.once();
  await ant.send('worker', 'one');
  await ant.once();
  await bee.once();
  expect(answers(bus)).toEqual(['done', 'done']);
  expect(claims(bus)).toEqual([]);
}, 120_000);
