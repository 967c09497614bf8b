import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

/** What a power failure makes of a file that was not written out. */
const HARM = {
  emptied: () => Buffer.alloc(0),
  zeros: (bytes: Buffer) => Buffer.alloc(bytes.length),
  'cut short': (bytes: Buffer) => bytes.subarray(0, bytes.length / 2),
};

/** Harms loose objects of a clone; all of them, where none is named. */
function harm(host: Host, how: keyof typeof HARM, oids = looseIn(host)): void {
  for (const oid of oids) {
    const path = join(host.dir, '.git', 'objects', oid.slice(0, 2), oid.slice(2));
    chmodSync(path, 0o600);
    writeFileSync(path, HARM[how](readFileSync(path)));
  }
}

function looseIn(host: Host): string[] {
  const objects = join(host.dir, '.git', 'objects');
  const folders = readdirSync(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return folders.flatMap((folder) =>
    readdirSync(join(objects, folder)).map((name) => folder + name),
  );
}

/** A host, and a question for its actor that it has not seen. */
async function asked(): Promise<{ bus: Bus; host: Host; question: string }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  return { bus, host, question: await host.send('worker', 'hello') };
}

const answers = (bus: Bus): string[][] => bus.from('worker').map(({ message }) => message.re);

it.each(['emptied', 'zeros', 'cut short'] as const)(
  'a clone whose objects a power failure has left %s gets them again from the remote',
  async (how) => {
    const { bus, host, question } = await asked();
    harm(host, how);
    expect((await host.run('status')).out).toMatch(/^stuck: no dispatcher is running/);
    await host.once();
    expect(answers(bus)).toEqual([[question]]);
    git(host.dir, 'fsck', '--no-dangling');
  },
);

it.each(['data', 'data/channels', 'hosts', 'hosts/front.md'])(
  'mail is not passed over while the clone’s object of “%s” is damaged, and the log says so',
  { tags: 'long' },
  async (path) => {
    const { bus, host, question } = await asked();
    harm(host, 'zeros', [git(host.dir, 'rev-parse', `origin/main:${path}`).trim()]);
    const running = host.start('--interval', '1');
    expect(await running.saw('clone_mended')).toMatchObject({ objects: 1, level: 'warn' });
    await running.saw('push_done');
    await running.stop();
    expect(answers(bus)).toEqual([[question]]);
  },
);

it.each(['', 'upstream', 'upstream/CROSSTALK-VERSION'])(
  'without the clone’s object of “%s” it is not known whether it is a transport: the remote is asked first',
  { tags: 'long' },
  async (path) => {
    const { bus, host, question } = await asked();
    harm(host, 'zeros', [git(host.dir, 'rev-parse', `origin/main:${path}`).trim()]);
    await host.once();
    expect(answers(bus)).toEqual([[question]]);
  },
);

it('what is damaged while the remote is away waits for it, and nothing is passed over meanwhile', async () => {
  const { bus, host, question } = await asked();
  harm(host, 'zeros', [git(host.dir, 'rev-parse', 'origin/main:data/channels').trim()]);
  bus.unplug();
  const away = host.start('--interval', '1');
  await away.saw('fetch_failed');
  await away.saw('internal_error', ({ error }) => String(error).includes('cannot be read in'));
  await away.stop();
  const sent = await host.run('send', '--to', 'worker', 'second');
  expect(sent.out).not.toContain('Sent: ');
  bus.plug();
  const synced = await host.run('sync');
  expect([synced.code, synced.err]).toEqual([0, '']);
  await host.once();
  expect(answers(bus).flat()).toContain(question);
});

it('sync says how much it removed and got again', async () => {
  const { host } = await asked();
  harm(host, 'cut short', [git(host.dir, 'rev-parse', 'origin/main').trim()]);
  const synced = await host.run('sync');
  expect([synced.code, synced.err]).toEqual([
    0,
    'crosstalk sync: damaged objects of the clone that were removed and asked for again: 1\n',
  ]);
  expect((await host.run('sync')).err).toBe('');
});

it(
  'a message that is written again while its object lies damaged here is published',
  { tags: 'long' },
  async () => {
    const { bus, host } = await asked();
    const before = new Set(looseIn(host));
    bus.unplug();
    expect((await host.run('send', '--to', 'worker', 'queued')).out).toMatch(/^Queued: /);
    harm(
      host,
      'zeros',
      looseIn(host).filter((oid) => !before.has(oid)),
    );
    bus.plug();
    expect((await host.run('sync')).out).toContain('Pushed: 1\n');
    expect(bus.messages().map(({ message }) => message.body)).toContain('queued');
  },
);

it('damage of a remote on the same machine costs no object of the clone', async () => {
  const { bus, host } = await asked();
  const before = looseIn(host);
  const oid = git(bus.hub, 'rev-parse', 'main^{tree}').trim();
  const path = join(bus.hub, 'objects', oid.slice(0, 2), oid.slice(2));
  chmodSync(path, 0o600);
  writeFileSync(path, '');
  expect((await host.run('send', '--to', 'worker', 'queued')).out).toMatch(/^Queued: /);
  await host.run('sync');
  expect(before.filter((oid) => !looseIn(host).includes(oid))).toEqual([]);
});
