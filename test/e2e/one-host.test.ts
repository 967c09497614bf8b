import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';

it('a message that is sent with --one says so, also from a run, and an answer or one host cannot', async () => {
  const inRun =
    'cat >/dev/null; crosstalk send --to helper --one part; crosstalk send --to ada --one x 2>&1 | tail -1';
  const host = await new Bus().host('front', { worker: inRun, helper: 'echo done' });
  const asked = await host.send('worker', 'hello', '--one', '--from', 'ada');
  await host.once();
  const one = host.bus
    .messages()
    .map(({ relPath, message }) => [
      message.from,
      relPath === asked || message.from === 'worker' ? message.one : undefined,
    ]);
  expect(one).toContainEqual(['ada', true]);
  expect(one.filter(([from]) => from === 'worker')).toContainEqual(['worker', true]);
  expect(host.bus.from('worker').map(({ message }) => message.body)).toContainEqual(
    expect.stringContaining('--one is for a question, and this goes to its addressee as an answer'),
  );
  for (const argv of [
    ['send', '--to', 'helper,worker@front', '--one', 'hello'],
    ['ask', 'worker@front', '--one', 'hello'],
  ]) {
    const { code, err } = await host.run(...argv);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('--one to worker@front: that is one host already; leave --one out'),
    ]);
  }
});

it('doctor names a lease that is none', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  git(host.dir, 'config', 'crosstalk.claimLease', '10s');
  expect((await host.run('doctor')).out).toContain('git config crosstalk.claimLease is "10s"');
});
