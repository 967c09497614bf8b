import { expect, it } from 'vitest';
import { git } from '../support/git.ts';
import { Bus } from '../support/bus.ts';

it('a host that gets another alias serves the mail that waits for that, and answers nothing again', async () => {
  const bus = new Bus();
  const host = await bus.host('old', { worker: 'echo done' });
  const early = await host.send('worker', 'for whoever it is');
  const waiting = await host.send('worker@new', 'for the one that comes');
  await host.once();
  await host.once();
  const answersTo = (question: string): (string | undefined)[] =>
    bus
      .from('worker')
      .flatMap(({ message: { re, host: by } }) => (re.includes(question) ? [by] : []));
  expect([answersTo(early), answersTo(waiting)]).toEqual([['old'], []]);
  const file = git(bus.hub, 'show', 'main:hosts/old.md').replace('alias: old', 'alias: new');
  host.edit({ 'hosts/new.md': file });
  host.remove('hosts/old.md');
  const approving = await host.run('host', 'show', '--host', 'new', '--json');
  const { held } = JSON.parse(approving.out) as { held: { digest: string }[] };
  const digests = held.map(({ digest }) => digest);
  expect((await host.run('host', 'approve', '--host', 'new', ...digests)).code).toBe(0);
  for (let pass = 0; pass < 2; pass++)
    expect((await host.run('dispatch', '--once', '--host', 'new')).code).toBe(0);
  expect([answersTo(early), answersTo(waiting)]).toEqual([['old'], ['new']]);
});
