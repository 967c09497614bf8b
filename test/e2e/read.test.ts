import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';

const RE = '2026/06/09/190000000Z-00000001.md';
const PATH = '2026/06/09/200000000Z-0000abcd0123.md';
const TEXT = `---
from: anna
to: [bert@server, carl]
type: note
timestamp: 2026-06-09T20:00:00.000Z
re: ${RE}
cause: ${RE}
tier: large
host: laptop
mood: good
tags: [a, b]
---

# Report

All is well.
`;

async function withMessage(content: string | Buffer): Promise<{ host: Host; path: string }> {
  const host = await new Bus().host('front', { worker: 'true' });
  const path = `data/channels/${host.channel()}/${PATH}`;
  host.edit({ [path]: content });
  return { host, path };
}

it('read shows one message whole, found at the remote by its suffix', async () => {
  const { host, path } = await withMessage(TEXT);
  for (const name of ['0000abcd', '0000abcd0123', PATH, `general/${PATH}`]) {
    const { code, out, err } = await host.run('read', name);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      new RegExp(
        [
          '^from     anna',
          'to       bert@server, carl',
          `channel  general \\(${host.channel()}\\)`,
          String.raw`time     \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(2026-06-09T20:00:00.000Z\)`,
          'type     note',
          'tier     large',
          'host     laptop',
          `re       ${RE}`,
          `cause    ${RE}`,
          `path     ${path}`,
          'mood     "good"',
          String.raw`tags     \["a","b"\]`,
          '',
          '# Report',
          '',
          'All is well.\n$',
        ].join('\n'),
      ),
    );
  }
  expect(await host.run('read', 'ffff')).toMatchObject({ code: 1, out: '' });
});

it('read --json keeps the fields we do not know, and --raw every byte', async () => {
  const { host, path } = await withMessage(TEXT);
  expect(JSON.parse((await host.run('read', '0000abcd', '--json')).out)).toEqual({
    channel: host.channel(),
    channel_name: 'general',
    path,
    queued: false,
    relPath: PATH,
    from: 'anna',
    to: ['bert@server', 'carl'],
    type: 'note',
    timestamp: '2026-06-09T20:00:00.000Z',
    tier: 'large',
    host: 'laptop',
    re: [RE],
    cause: [RE],
    extra: { mood: 'good', tags: ['a', 'b'] },
    body: '# Report\n\nAll is well.\n',
  });
  expect((await host.run('read', '0000abcd', '--raw')).out).toBe(TEXT);
  expect(await host.run('read', '0000abcd', '--raw', '--json')).toMatchObject({
    code: 2,
    err: 'crosstalk read: --raw and --json were given; give one of them\n',
  });
});

it(
  'read says why a file is no message, and shows it raw all the same',
  { tags: 'long' },
  async () => {
    const content = Buffer.from('no header \xff\u001b[2J\n', 'latin1');
    const { host } = await withMessage(content);
    expect(await host.run('read', '0000abcd')).toMatchObject({ code: 1, out: '' });
    expect((await host.run('read', '0000abcd')).err).toMatch(
      /^crosstalk read: "data.*" is malformed: not UTF-8; see it as it is with: crosstalk read --raw /,
    );
    const { Program } = await import('../support/process.ts');
    const chunks: Buffer[] = [];
    const raw = new Program(host, 'read', '--raw', '0000abcd');
    raw.child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    expect(await raw.ended()).toBe(0);
    expect(Buffer.concat(chunks)).toEqual(content);
  },
);

it(
  'read shows what still waits in the outbox, and what is here while the remote is away',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const sent = await host.send('worker', 'on the remote');
    await host.pointTo(`${host.bus.root}/gone.git`);
    const { out } = await host.run('send', '--to', 'worker', '--no-wait', 'in the outbox');
    const queued = await host.run('read', out.trim().slice('Queued: '.length));
    expect(queued.out).toMatch(/^state {4}in the outbox, not on the remote yet$/m);
    expect(queued.out).toContain('\n\nin the outbox\n');
    expect(await host.run('read', sent)).toMatchObject({ code: 0, err: '' });
  },
);
