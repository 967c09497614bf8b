import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MessageReader } from '../../src/bus/message-reader.ts';
import { parseChannel } from '../../src/protocol/files/channel.ts';
import { parseHostFile } from '../../src/protocol/files/host-file.ts';
import { parseMemory } from '../../src/protocol/files/memory.ts';
import { parseMessage } from '../../src/protocol/message.ts';
import { knownActors } from '../../src/actions/setup/actors.ts';
import { openTransport, type Context } from '../../src/actions/context.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { changesIn } from '../../src/transport/checkout/changes.ts';
import { Git } from '../../src/transport/git/git.ts';
import { blob, nested, plant, tree, type Entry } from '../support/bomb.ts';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { headers } from '../support/headers.ts';
import { said } from '../support/messages.ts';
import { processorTime } from '../support/processor-time.ts';
import { sample } from '../support/form.ts';

/** The remote itself, opened as a transport. */
async function atHub({ hub, root }: Bus): Promise<Transport> {
  const env = { ...process.env, CROSSTALK_STATE_DIR: `${root}/hub-state` };
  return (await openTransport(hub, env)).transport;
}

const FOLDER = '040000';
const CHANNEL = '11111111-1111-4111-8111-111111111111';
const MESSAGE =
  '---\nfrom: mallory\nto: nobody\ntype: text\ntimestamp: 2026-06-09T19:00:00Z\n---\n\nx\n';

const numbered = (count: number, digits: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => String(n + from).padStart(digits, '0'));

/** Every day of ten thousand years, each with the same thousand messages. */
function calendar(dir: string): string {
  const file = blob(dir, MESSAGE);
  const folder = (names: readonly string[], oid: string, mode: Entry['mode'] = FOLDER): string =>
    tree(
      dir,
      names.map((name) => ({ mode, oid, name })),
    );
  const files = numbered(1000, 8).map((suffix) => `190000000Z-${suffix}.md`);
  const day = folder(files, file, '100644');
  const year = folder(numbered(12, 2, 1), folder(numbered(31, 2, 1), day));
  return folder(numbered(10_000, 4), year);
}

/** A hundred thousand names of one file. */
function crowd(dir: string, content: string, nameOf: (n: number) => string): string {
  const oid = blob(dir, content);
  return tree(
    dir,
    Array.from({ length: 100_000 }, (_, n) => ({ mode: '100644', oid, name: nameOf(n) })),
  );
}

const bomb = (dir: string): string =>
  nested(dir, tree(dir, [{ mode: '100644', oid: blob(dir, MESSAGE), name: 'x.md' }]), 10, 10);

const BOMBS: readonly [where: string, path: string, make: (dir: string) => string][] = [
  ['in a folder that is none of ours', 'junk', bomb],
  ['in a channel', `data/channels/${CHANNEL}/junk`, bomb],
  ['in a day', `data/channels/${CHANNEL}/2026/06/09/junk`, bomb],
  ['where a message would be', `data/channels/${CHANNEL}/2026/06/09/190000000Z-1f2e3d4c.md`, bomb],
  ['beside the channels', 'data/channels/junk', bomb],
  ['on every day of ten thousand years', `data/channels/${CHANNEL}`, calendar],
  ['below local/', 'local/junk', bomb],
  ['below upstream/', 'upstream/junk', bomb],
  ['below hosts/', 'hosts/junk', bomb],
  ['below data/memories/', 'data/memories/junk', bomb],
];

/** The most objects that one pass of a dispatcher may read, including its start and the answer. */
const MOST = 2500;

function readBy(log: readonly Event[]): number {
  return Number(log.find(({ event }) => event === 'dispatcher_stopped')?.['objects_read']);
}

/** Asks, and runs every command that reads; returns the question. */
async function goesOn(host: Host): Promise<void> {
  const question = await host.send('worker', 'are you there?', '--channel', 'general');
  const log = await host.once();
  const replied = JSON.parse((await host.run('replies', question, '--json')).out) as unknown;
  expect(JSON.stringify(replied)).toContain('answered');
  expect(readBy(log)).toBeLessThan(MOST);
  for (const argv of [
    ['log'],
    ['log', 'general'],
    ['replies', question],
    ['thread', question],
    ['search', 'there'],
    ['status'],
    ['channel', 'list'],
    ['memory', 'list'],
  ]) {
    const ran = await host.run(...argv);
    const { code } = ran;
    expect({ argv, code, err: code === 0 ? '' : ran.err }).toEqual({ argv, code: 0, err: '' });
    expect(ran.out.length + ran.err.length).toBeLessThan(200_000);
  }
}

async function machine(): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo answered' });
  await host.once();
  // The checkout has its own limit and its own test.
  git(host.dir, 'checkout', '--quiet', '--detach');
  return { bus, host };
}

describe('a kilobyte of nested folders', () => {
  it.each(sample(BOMBS))(
    '%s stops neither delivery nor any command that reads',
    { tags: 'sampled' },
    async (_, path, make) => {
      const { bus, host } = await machine();
      plant(bus.hub, { [path]: { mode: FOLDER, oid: make(bus.hub) } });
      await goesOn(host);
    },
  );

  it(
    'that is taken away again, or was there before a machine joined, stops nothing either',
    { tags: 'long' },
    async () => {
      const { bus, host } = await machine();
      const before = git(bus.hub, 'rev-parse', 'main^{tree}').trim();
      plant(bus.hub, { [`data/channels/${CHANNEL}`]: { mode: FOLDER, oid: calendar(bus.hub) } });
      await host.once();
      const log = await host.once('--from-now');
      expect(readBy(log)).toBeLessThan(MOST);
      const gone = git(bus.hub, 'commit-tree', '-p', 'main', '-m', 'gone', before).trim();
      git(bus.hub, 'update-ref', 'refs/heads/main', gone);
      await goesOn(host);
    },
  );

  it('does not keep an operator from archiving, and is left as it is', async () => {
    const { bus, host } = await machine();
    const old = `data/channels/${CHANNEL}/2026/06/09/190000000Z-1f2e3d4c.md`;
    const junk = { mode: FOLDER, oid: bomb(bus.hub) } as const;
    const places = ['junk', 'local/junk', `data/channels/${CHANNEL}/junk`];
    plant(bus.hub, {
      [old]: { mode: '100644', oid: blob(bus.hub, MESSAGE) },
      [`data/channels/${CHANNEL}/CHANNEL.md`]: { mode: '100644', oid: blob(bus.hub, 'x') },
      ...Object.fromEntries(places.map((path) => [path, junk])),
    });
    const before = git(bus.hub, 'rev-parse', 'main').trim();
    const bundle = join(bus.root, 'archive.bundle');
    const args = ['archive', '--before', '2026-06-10', '--with-waiting', '--bundle', bundle];
    const { code, err } = await host.run(...args, '--yes');
    expect([code, err]).toEqual([0, '']);
    expect(git(bus.hub, 'rev-list', '--count', 'main').trim()).toBe('1');
    // The objects of a commit, with the folders on the path to the removed file.
    const objects = (of: string): Set<string> =>
      new Set(git(bus.hub, 'rev-list', '--objects', '--no-object-names', of).trim().split('\n'));
    const known = objects(before);
    const made = [...objects('main')].filter((oid) => !known.has(oid));
    expect(made.length).toBeLessThanOrEqual(5);
    for (const path of places)
      expect(git(bus.hub, 'rev-parse', `main:${path}`).trim()).toBe(junk.oid);
    expect(git(bus.hub, 'ls-tree', '--name-only', `main:data/channels/${CHANNEL}`)).toBe(
      'CHANNEL.md\njunk\n',
    );
    git(host.dir, 'fetch', '--quiet', 'origin');
    const restored = await host.run('archive', '--restore', bundle);
    expect([restored.code, restored.err]).toEqual([0, '']);
    expect(git(bus.hub, 'show', `main:${old}`)).toBe(MESSAGE);
  });

  it('is said to be there once, with so many of its places, and how many more there are', async () => {
    const { bus, host } = await machine();
    plant(bus.hub, { [`data/channels/${CHANNEL}`]: { mode: FOLDER, oid: calendar(bus.hub) } });
    const said = (await host.once()).filter(({ event }) => event === 'message_malformed');
    expect(said.length).toBeLessThanOrEqual(101);
    expect(said[0]).toMatchObject({ reason: 'the same folder stands at too many places' });
    expect(Number(said.at(-1)?.['more'])).toBeGreaterThan(5000);
    const status = JSON.parse((await host.run('status', '--json')).out) as {
      malformed: unknown[];
      malformed_total: number;
    };
    expect(status.malformed.length).toBeLessThanOrEqual(1000);
    expect(status.malformed_total).toBeGreaterThan(5000);
  });

  it('counts as more than any number of changes', async () => {
    const { bus, host } = await machine();
    const from = git(bus.hub, 'rev-parse', 'main').trim();
    plant(bus.hub, { 'local/junk': { mode: FOLDER, oid: bomb(bus.hub) } });
    const to = git(bus.hub, 'rev-parse', 'main').trim();
    const transport = await atHub(bus);
    const repository = { git: new Git(bus.hub, process.env) };
    const inside = (folders: string[]): Promise<unknown> =>
      changesIn(repository, transport.objects, from, to, { files: [], folders });
    try {
      expect(await inside(['local'])).toMatchObject({ ok: false });
      expect(await inside(['hosts', 'upstream'])).toEqual({ ok: true, changes: [] });
    } finally {
      transport.close();
    }
    expect(host.alias).toBe('front');
  });
});

describe('a hundred thousand names for one file', () => {
  it.each([
    ['host files', 'hosts', (n: number) => `h${String(n)}.md`, headers.keys(60_000)],
    [
      'memories',
      'data/memories',
      (n: number) => `20260609T190000000Z-${n.toString(16).padStart(8, '0')}.md`,
      headers.keys(60_000),
    ],
  ])('as %s cost one reading of it', { tags: 'long' }, async (_, path, nameOf, header) => {
    const { bus, host } = await machine();
    const own = git(bus.hub, 'rev-parse', 'main:hosts/front.md').trim();
    plant(bus.hub, {
      [path]: { mode: FOLDER, oid: crowd(bus.hub, `---\n${header}---\n`, nameOf) },
      'hosts/front.md': { mode: '100644', oid: own },
    });
    await goesOn(host);
  });

  it('as messages that one message answers cost one reading of it', { tags: 'long' }, async () => {
    const { bus } = await machine();
    const large = blob(bus.hub, MESSAGE + 'x'.repeat(1_000_000));
    const names = numbered(1600, 8).map((suffix) => `190000000Z-${suffix}.md`);
    const day = tree(
      bus.hub,
      names.map((name) => ({ mode: '100644', oid: large, name })),
    );
    plant(bus.hub, { [`data/channels/${CHANNEL}/2026/06/09`]: { mode: FOLDER, oid: day } });
    const re = names.map((name) => `2026/06/09/${name}`);
    const transport = await atHub(bus);
    try {
      const reader = new MessageReader(transport);
      const before = transport.cost;
      const tip = (await transport.tip()) ?? '';
      const delivered = said(1, 'mallory', 'worker');
      const asking = { ...delivered, message: { ...delivered.message, re } };
      const lookup = await reader.chain(tip, CHANNEL, [asking]);
      expect(re.every((relPath) => lookup(relPath)?.from === 'mallory')).toBe(true);
      // Only a part of that much text is kept.
      const held = re.reduce((sum, relPath) => sum + (lookup(relPath)?.body.length ?? 0), 0);
      expect(held).toBeLessThan(34 * 1024 * 1024);
      expect((await reader.senders(tip, CHANNEL, re)).size).toBe(1600);
      expect(await reader.messages(tip, CHANNEL, re)).toHaveLength(1600);
      const { reads, bytes } = transport.cost;
      expect(reads - before.reads).toBeLessThan(10);
      expect(bytes - before.bytes).toBeLessThan(3_000_000);
    } finally {
      transport.close();
    }
  });

  it(
    'as profiles cost one reading of it, for each who lists the actors',
    { tags: 'long' },
    async () => {
      const { bus } = await machine();
      const profile = '---\nname: a7\ndescription: the seventh\n---\nx\n';
      plant(bus.hub, {
        'local/actors': {
          mode: FOLDER,
          oid: crowd(bus.hub, profile, (n) => `a${String(n)}.md`),
        },
      });
      const transport = await atHub(bus);
      try {
        const context = { transport, reader: new MessageReader(transport) } as unknown as Context;
        const before = transport.cost.reads;
        const actors = await knownActors(context);
        expect(actors.length).toBeGreaterThan(100_000);
        expect(transport.cost.reads - before).toBeLessThan(10);
        expect(actors.filter(({ description }) => description === 'the seventh')).toEqual([
          { name: 'a7', description: 'the seventh', profile: 'local/actors/a7.md', hosts: [] },
        ]);
      } finally {
        transport.close();
      }
    },
  );

  it('as messages are parsed once, whatever they are', async () => {
    const { bus } = await machine();
    const oid = blob(bus.hub, `---\n${headers.keys(60_000)}---\n`);
    const transport = await atHub(bus);
    try {
      const reader = new MessageReader(transport);
      const files = Array.from({ length: 1000 }, (_, n) => ({
        path: `data/channels/${CHANNEL}/2026/06/09/190000000Z-${String(n).padStart(8, '0')}.md`,
        oid,
        mode: '100644',
      }));
      const before = transport.cost.reads;
      const parsed = await Promise.all(files.map((file) => reader.parse(file)));
      for (const file of files) parsed.push(await reader.parse(file));
      expect(transport.cost.reads - before).toBe(1);
      // They are the same object: nothing was parsed a second time.
      expect(new Set(parsed).size).toBe(1);
      expect(parsed[0]).toMatchObject({ ok: false });
    } finally {
      transport.close();
    }
  });
});

describe('a header', () => {
  it('larger than 64 KiB is malformed, and nothing in it is looked at', () => {
    const fits = `---\n${'x'.repeat(9)}: ${'y'.repeat(64 * 1024 - 12)}\n---\n`;
    const over = fits.replace('y', 'yy');
    const wide = fits.replaceAll('yy', 'ä');
    for (const parse of [
      (text: string) => parseMessage(Buffer.from(text)),
      parseHostFile,
      parseMemory,
      (text: string) => parseChannel(text, CHANNEL),
    ]) {
      expect(JSON.stringify(parse(fits))).not.toContain('64 KiB');
      expect(JSON.stringify(parse(wide))).not.toContain('64 KiB');
      for (const large of [over, fits.replace('y', 'ä'), `---\n${'{'.repeat(900_000)}\n---\n`])
        expect(parse(large)).toEqual({
          ok: false,
          problems: ['the frontmatter is larger than 64 KiB'],
        });
    }
  });

  it.each(Object.entries(headers))(
    'of 64 KiB is read in a time that follows its size: %s',
    { tags: 'long' },
    (_, make) => {
      // Times that grew with the square of the keys, errors, aliases or blank lines were seconds to
      // minutes.
      const text = Buffer.from(`---\n${make(64 * 1024 - 100)}---\n`);
      const begun = processorTime();
      for (let n = 0; n < 20; n++) parseMessage(text);
      expect(processorTime() - begun).toBeLessThan(20_000);
    },
  );
});

it('a message that no dispatcher could read for its size is refused, and not called sent', async () => {
  const bus = new Bus();
  const host = await bus.host('laptop', { worker: 'cat >/dev/null; echo done' });
  const names = Array.from({ length: 6000 }, (_, n) => `somebody${String(n)}`).join(',');
  const sent = await host.run('send', '--to', names, 'hello');
  expect(sent).toMatchObject({ code: 2, out: '' });
  expect(sent.err).toContain('64 KiB');
  expect(sent.err).toContain('6000 addressees');
  expect(git(bus.hub, 'log', '--format=%s', 'main')).not.toContain('somebody0');
});
