import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';

/** What actors have answered, each with the text of the question. */
function answers(bus: Bus): string[] {
  const all = bus.messages();
  const bodies = new Map(all.map(({ relPath, message }) => [relPath, message.body.trim()]));
  return all
    .flatMap(({ message: { from, host = '', re } }) =>
      re.map((ref) => `${from}@${host}: ${bodies.get(ref) ?? ''}`),
    )
    .sort();
}

async function add(host: Host, name: string): Promise<void> {
  const added = await host.run('actor', 'add', name, '--cli', 'echo done');
  expect(added.code, added.err).toBe(0);
}

it('a message to everybody reaches the actors that were declared when it was written', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { helper: 'echo done' });
  await front.send('all', 'one');
  await front.send('later', 'by name', '--anyway');
  await add(front, 'later');
  await front.send('all', 'two');
  await front.once();
  await front.once();
  expect(answers(bus)).toEqual([
    'helper@front: one',
    'helper@front: two',
    'later@front: by name',
    'later@front: two',
  ]);
});

it('a machine that joins later runs no broadcast from before it', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { helper: 'echo done' });
  await front.once();
  await front.send('all', 'one');
  const back = await bus.host('back', { helper: 'echo done' });
  await back.once();
  expect(answers(bus)).toEqual([]);
  await front.send('all', 'two');
  await back.once();
  await front.once();
  expect(answers(bus)).toEqual(['helper@back: two', 'helper@front: one', 'helper@front: two']);
});
