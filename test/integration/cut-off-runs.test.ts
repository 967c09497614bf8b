import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { WebNow } from '../../src/api/api.ts';
import { Bus, Running } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

it('a run that is cut off did not say nothing: its message waits again', async () => {
  const bus = new Bus();
  const begun = join(bus.root, 'begun');
  const host = await bus.host('front', {
    sleeper: `cat > /dev/null; touch ${begun}; exec sleep 600`,
  });
  const running = new Running(host, ['--grace', '0']);
  const web = await Web.start(host);
  const events = await web.events();
  const relPath = await host.send('sleeper', 'think');
  await until('the run', () => existsSync(begun));
  await events.saw('runs', ({ running: at }) => at.length === 1);
  await running.stop();
  const { data } = await events.saw('runs', ({ ended }) => ended.length === 1);
  expect(data.ended).toMatchObject([{ actor: 'sleeper', outcome: 'stopped', answers: [] }]);
  await until('the fact', () => events.statesOf(relPath).at(-1) === 'waiting');
  const now = await web.get<WebNow>('/api/now');
  expect(now.waiting.messages).toMatchObject([{ relPath, state: 'waiting' }]);
});

it('a run that was taken back did not fail', async () => {
  const bus = new Bus();
  const begun = join(bus.root, 'begun');
  const host = await bus.host('front', {
    sleeper: `cat > /dev/null; touch ${begun}; exec sleep 600`,
  });
  const running = new Running(host, ['--grace', '0']);
  const web = await Web.start(host);
  const events = await web.events();
  const relPath = await host.send('sleeper', 'think');
  await until('the run', () => existsSync(begun));
  await events.saw('runs', ({ running: at }) => at.length === 1);
  await host.run('cancel', relPath);
  const { data } = await events.saw('runs', ({ ended }) => ended.length === 1);
  expect(data.ended).toMatchObject([{ actor: 'sleeper', outcome: 'cancelled' }]);
  await running.stop();
});

it(
  'a run that ends with nothing to say, where no answer is due, said nothing',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const [begun, go] = [join(bus.root, 'begun'), join(bus.root, 'go')];
    // Whoever gets an answer owes none for it.
    const host = await bus.host('front', {
      asker: `grep -q '(you) to quiet' && { touch ${begun}; while test ! -e ${go}; do sleep 0.05; done; exit 0; }; crosstalk send --new --to quiet "your part" >&2; echo asked`,
      quiet: 'cat > /dev/null; echo done',
    });
    const running = new Running(host, ['--grace', '0']);
    const web = await Web.start(host);
    const events = await web.events();
    await host.send('asker', 'go');
    await until('the second run', () => existsSync(begun));
    const { data } = await events.saw('runs', ({ running: at }) =>
      at.some(({ actor }) => actor === 'asker'),
    );
    expect(data.running.length).toBeGreaterThan(0);
    writeFileSync(go, '');
    await events.saw('runs', ({ ended }) =>
      ended.some(({ actor, outcome }) => actor === 'asker' && outcome === 'silent'),
    );
    await running.stop();
  },
);
