import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatMessage } from '../../src/protocol/message.ts';
import { Bus, Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { said } from '../support/messages.ts';
import { until } from '../support/wait.ts';

interface Facts {
  health: { ok: boolean; problems: string[] };
  version_problem: string | null;
  dispatcher: object | null;
}

async function facts(host: Host): Promise<Facts> {
  return JSON.parse((await host.run('status', '--json')).out) as Facts;
}

const VERSION = 'upstream/CROSSTALK-VERSION';

it.each([
  ['another version', { [VERSION]: '7.0\n' }],
  ['no version', undefined],
])('a push of %s holds a running dispatcher, which goes on by itself', async (_, files) => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const running = host.start();
  await running.saw('tick', ({ tip }) => tip === git(bus.hub, 'rev-parse', 'main').trim());
  if (files === undefined) host.remove(VERSION);
  else host.edit(files);
  await running.saw('version_refused', ({ problem }) => String(problem).includes(VERSION));
  const { relPath, message } = said(1, 'someone', 'worker');
  host.edit({
    [`data/channels/${host.channel()}/${relPath}`]: formatMessage(message),
  });
  const { health, version_problem: problem, dispatcher } = await facts(host);
  expect([health.ok, dispatcher === null]).toEqual([false, false]);
  expect(problem).toContain(files === undefined ? `has no ${VERSION}` : 'says "7.0"');
  expect(health.problems[0]).toContain('again with the one line 6.0');
  const { code, err, out } = await host.run('status');
  expect([code, out.startsWith('stuck: ')]).toEqual([1, true]);
  expect(err).toContain(problem);
  const doctor = await host.run('doctor');
  expect([doctor.code, doctor.out]).toEqual([1, expect.stringContaining('protocol version')]);
  const once = await host.run('dispatch', '--once', '--host', 'front');
  expect([once.code, once.err]).toEqual([1, expect.stringContaining(VERSION)]);
  expect(running.count('dispatch_start')).toBe(0);

  host.edit({ [VERSION]: '6.0\n' });
  await running.saw('version_accepted');
  await running.saw('dispatch_done');
  await until('all to be well', async () => (await facts(host)).health.ok);
  expect((await facts(host)).health).toEqual({ ok: true, problems: [] });
  expect([running.count('version_refused'), running.count('version_accepted')]).toEqual([1, 1]);
  expect((await running.stop()).code).toBe(0);
});

it(
  'an answer that is given while the version is another one leaves when it is right again',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: `while ! test -e ${bus.root}/go; do sleep 0.05; done; echo done`,
    });
    const running = host.start();
    const question = await host.send('worker', 'hello');
    await running.saw('dispatch_start');
    await host.send('worker', 'and again');
    host.edit({ [VERSION]: '7.0\n' });
    await running.saw('version_refused');
    writeFileSync(join(bus.root, 'go'), '');
    await running.saw('reply_queued');
    expect(bus.from('worker')).toEqual([]);
    expect(running.count('dispatch_start')).toBe(1);
    host.edit({ [VERSION]: '6.0\n' });
    await running.saw('version_accepted');
    await running.saw('dispatch_done', () => bus.from('worker').length === 2);
    expect(bus.from('worker')[0]?.message.re).toEqual([question]);
  },
);

it('status without a dispatcher says that this machine’s host file is gone, or broken', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  await host.once();
  const text = git(host.bus.hub, 'show', 'main:hosts/front.md');
  host.remove('hosts/front.md');
  await host.news();
  expect((await facts(host)).health.problems).toEqual([
    expect.stringContaining('no host file says alias: front'),
    expect.stringContaining('mail for front waits'),
  ]);
  host.edit({ 'hosts/front.md': '---\nalias: front\nactors: [oops\n---\n' });
  await host.news();
  expect((await facts(host)).health.problems[0]).toContain('hosts/front.md: ');
  const doctor = await host.run('doctor');
  expect([doctor.code, doctor.out]).toEqual([1, expect.stringContaining('hosts/front.md: ')]);
  host.edit({ 'hosts/front.md': text });
  await host.news();
  expect((await facts(host)).health.problems).toEqual([
    expect.stringContaining('no dispatcher is running here'),
  ]);
});

it('a machine that is nobody’s host is not troubled by a broken file of another one', async () => {
  const bus = new Bus();
  await bus.host('front', { worker: 'echo done' });
  const reader = new Host(bus, 'reader');
  git(bus.root, 'clone', '--quiet', bus.hub, 'reader');
  reader.edit({ 'hosts/front.md': '---\nalias: front\nactors: [oops\n---\n' });
  await reader.news();
  expect((await facts(reader)).health).toEqual({ ok: true, problems: [] });
});

it('status and doctor name a file that claims this machine’s alias, and escape its name', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const running = host.start();
  await running.saw('host_file_loaded');
  // The heartbeat follows at the end of the round.
  await until('a first heartbeat', async () => (await facts(host)).health.ok);
  host.edit({ 'hosts/other\u202e.md': git(host.bus.hub, 'show', 'main:hosts/front.md') });
  await running.saw('host_file_invalid');
  const said = String.raw`"hosts/other\u202e.md" claims to be the host file of front, which is hosts/front.md`;
  expect((await facts(host)).health.problems).toEqual([expect.stringContaining(said)]);
  expect((await host.run('status')).out).toContain(said);
  const doctor = await host.run('doctor');
  expect([doctor.code, doctor.out]).toEqual([1, expect.stringContaining(said)]);
});

it('messages that are named by many are read once, however often that is', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  await host.once();
  const folder = `data/channels/${host.channel()}`;
  const all = Array.from({ length: 60 }, (_, at) => said(at, 'someone', 'worker'));
  const re = all.map(({ relPath }) => relPath);
  host.edit(
    Object.fromEntries(
      all.map(({ relPath, message }) => [
        `${folder}/${relPath}`,
        formatMessage({ ...message, re }),
      ]),
    ),
  );
  const [tick] = (await host.once()).filter(({ event }) => event === 'tick');
  expect(tick?.['objects_read']).toBeGreaterThan(60);
  expect(tick?.['objects_read']).toBeLessThan(300);
});
