import { expect, it, vi } from 'vitest';
import { FarBell } from '../../src/dispatcher/bell/far-bell.ts';
import { connectBell } from '../../src/bell/connect.ts';
import { BellLine } from '../../src/bell/line.ts';
import { reasonOf } from '../../src/errors.ts';
import { Bus } from '../support/bus.ts';
import { FalseNats } from '../support/false-nats.ts';
import { until } from '../support/wait.ts';
import { withBell } from '../support/with-bell.ts';

/** Why a line goes down, of a server that says what it should not. */
async function whyDown(server: FalseNats): Promise<string> {
  const line = new BellLine(
    server.settings,
    () => 1,
    () => performance.now(),
  );
  try {
    return await new Promise((resolve) => {
      line.events.on('down', resolve);
      line.open();
    });
  } finally {
    await line.close();
  }
}

it.each([
  ['', 'a'],
  ['INFO {"server_id":"', 'a'],
])(
  'a server of the bell that begins with %j and ends no line is left after 64 KiB',
  async (first, firstEndless) => {
    const server = await FalseNats.start({ first, firstEndless });
    const reason = await connectBell(server.settings, { echo: false }).then(
      () => 'it is let in',
      reasonOf,
    );
    expect(reason).toContain('more than 64 KiB before the end of its first line');
    await until('the end of the connection', () => server.open === 0);
  },
);

it('while a server of the bell ends no line, a machine reads mail, answers status and stops', async () => {
  const server = await FalseNats.start({ first: '', firstEndless: 'a' });
  const bus = new Bus();
  const host = await bus.host('a', { alpha: 'echo here' });
  await withBell(host, { bell: server.url });
  const running = host.start();
  const down = await running.saw('bell_down');
  expect(down['reason']).toContain('more than 64 KiB');
  await host.send('alpha', 'all the same');
  await running.saw('push_done');
  await until('status to say it', async () => {
    const { out } = await host.run('status');
    return out.startsWith('healthy') && out.includes('the bell is down since');
  });
  await running.stop();
  await until('the end of the connections', () => server.open === 0);
});

it('of a server of the bell that never answers, no connection stays open', async () => {
  const server = await FalseNats.start({ first: '' });
  const attempt = async (): Promise<unknown> =>
    connectBell(server.settings, { echo: false }).then(() => 'it is let in', reasonOf);
  const reasons = await Promise.all([attempt(), attempt(), attempt()]);
  for (const reason of reasons) expect(reason).toContain('cannot be reached');
  expect(server.count).toBe(3);
  await until('the end of the connections', () => server.open === 0, 20_000);
});

it('a line that is closed while it connects leaves no connection', async () => {
  const server = await FalseNats.start({});
  const line = new BellLine(
    server.settings,
    () => 1,
    () => performance.now(),
  );
  line.open();
  await line.close();
  expect(server.count).toBe(1);
  await until('the end of the connection', () => server.open === 0, 10_000);
});

it.each([
  ['a message that is too large', { then: 'MSG a 1 4000000000\r\n', thenEndless: 'a' }],
  ['a line that does not end', { then: 'MSG ', thenEndless: 'a' }],
  ['questions without end', { thenEndless: 'PING\r\n' }],
  [
    'messages of nobody without end',
    { thenEndless: `MSG a 99 1000\r\n${'x'.repeat(1000)}\r\n`, end: 256 * 1024 * 1024 },
  ],
  ['bytes of no protocol', { then: '\u0001\u0002\u0003ÿ\u0000\r\nEVIL' }],
  ['INFO that cannot be read', { then: 'INFO {EVIL\r\n' }],
  ['INFO of nothing', { then: 'INFO null\r\n' }],
])(
  'a server of the bell that says %s is left at once, and printed nowhere',
  { tags: 'long' },
  async (_, words) => {
    const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    const server = await FalseNats.start(words);
    const reason = await whyDown(server);
    expect(reason).toMatch(
      /"it (says (a line )?(of )?more than|does not keep to the protocol of NATS)/,
    );
    expect(reason).not.toContain('EVIL');
    await until('the end of the connection', () => server.open === 0);
    expect(printed).not.toHaveBeenCalled();
  },
);

it(
  'while there is a flood, the bell is said not to be heard, and then to be heard again',
  { tags: 'slow' },
  async () => {
    const message = `MSG crosstalk.x.ring 1 1\r\nx\r\n`;
    const server = await FalseNats.start({ heard: message.repeat(3000) });
    const seen: unknown[] = [];
    const app = {
      transport: { origin: 'https://host/a.git', defaults: { bell: { servers: server.url } } },
      deliveries: { mailboxes: {} },
      hosts: {},
      env: {},
      log: (event: string) => {
        seen.push([event, far.isUp, far.state?.failing?.reason]);
      },
      now: () => new Date(),
      random: () => 1,
    } as unknown as ConstructorParameters<typeof FarBell>[0];
    const far: FarBell = new FarBell(app, { ring: () => undefined }, { awaited: 0 });
    far.follow();
    await until('the flood and its end', () => seen.length === 3);
    await far.close();
    expect(seen).toEqual([
      ['bell_up', true, undefined],
      ['bell_flooded', false, expect.stringContaining('not heard for 10 s')],
      ['bell_up', true, undefined],
    ]);
  },
);

it(
  'what a server of the bell says is escaped where doctor shows it',
  { tags: 'long' },
  async () => {
    const evil = '\u001b[31mEVIL\u001b]0;title\u0007';
    const bus = new Bus();
    const host = await bus.host('a', { alpha: 'true' });
    for (const words of [
      { then: `-ERR 'Permissions Violation for Subscription to "${evil}"'\r\n` },
      { first: `${evil} timeout reset certificate\r\n` },
      { first: `INFO {"${evil}timeout TLS"\r\n` },
      { then: `-ERR '${evil} timeout'\r\n`, isEnded: true },
    ]) {
      const server = await FalseNats.start(words);
      await withBell(host, { bell: server.url });
      const { out, err } = await host.run('doctor');
      expect(out).toContain(server.address);
      expect(out + err).not.toContain(evil.slice(0, 9));
      expect(out + err).not.toContain('\u001b]0');
    }
  },
);
