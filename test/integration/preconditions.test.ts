import { expect, it, onTestFinished } from 'vitest';
import { onCrashPoint } from '../../src/crash-points.ts';
import { openTransport } from '../../src/actions/context.ts';
import { Outbox } from '../../src/state/outbox.ts';
import type { Commit, Transport } from '../../src/transport/transport.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { putRow, rowsIn } from '../support/rows.ts';

const opened = async (host: Host): Promise<Transport> =>
  (await openTransport(host.dir, { ...process.env, ...host.env })).transport;

const commit = (path: string, content: string, requires: Commit['requires'] = []): Commit => ({
  author: { name: 'a', email: 'a@b' },
  at: new Date(0).toISOString(),
  subject: path,
  files: [{ path, content }],
  requires,
});
const fresh = (path: string, content: string): Commit =>
  commit(path, content, [{ path, oid: null }]);

const read = (bus: Bus, path: string): string => git(bus.hub, 'show', `main:${path}`);
const idOf = (bus: Bus, path: string): string => git(bus.hub, 'rev-parse', `main:${path}`).trim();

it(
  'a file that must be new is never overwritten, and refuses its own entry alone',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const [a, b] = [
      await bus.host('a', { worker: 'true' }),
      await bus.host('b', { worker: 'true' }),
    ];
    const [first, second] = [await opened(a), await opened(b)];
    expect(await first.publish([[fresh('x/one', 'first')]])).toMatchObject({
      ok: true,
      refused: [],
    });
    // The second one has not fetched: it builds on an older tip, is rejected, and looks again.
    const result = await second.publish([
      [fresh('x/two', 'second')],
      [fresh('x/three', 'second'), fresh('x/one', 'second')],
      [fresh('x/one', 'first')],
    ]);
    first.close();
    second.close();
    const path = 'x/one';
    const reason = `another file stands at ${path} on the bus, and is not overwritten`;
    expect(result).toMatchObject({ ok: true, commits: 1, refused: [{ entry: 1, path, reason }] });
    expect(git(bus.hub, 'ls-tree', '--name-only', 'main', 'x/')).toBe('x/one\nx/two\n');
    expect(read(bus, 'x/one')).toBe('first');
  },
);

it('of two entries for one new file in one push the first is published', async () => {
  const bus = new Bus();
  const transport = await opened(await bus.host('a', { worker: 'true' }));
  const result = await transport.publish([[fresh('x/one', '1')], [fresh('x/one', '2')]]);
  transport.close();
  expect(result).toMatchObject({ ok: true, commits: 1, refused: [{ entry: 1 }] });
  expect(read(bus, 'x/one')).toBe('1');
});

it('what goes along with a push is built on others’ work too, never goes alone, and is not counted', async () => {
  const bus = new Bus();
  const [a, b] = [await bus.host('a', { worker: 'true' }), await bus.host('b', { worker: 'true' })];
  const [first, second] = [await opened(a), await opened(b)];
  const one = [[fresh('x/one', '1')]];
  expect(await first.publish(one, { beside: commit('y/a', '1') })).toMatchObject({ commits: 1 });
  expect(read(bus, 'y/a')).toBe('1');
  const tip = git(bus.hub, 'rev-parse', 'main');
  expect(await first.publish(one, { beside: commit('y/a', '2') })).toMatchObject({ commits: 0 });
  expect(git(bus.hub, 'rev-parse', 'main')).toBe(tip);
  // The second one has not fetched, and is rejected at first.
  const two = await second.publish([[fresh('x/two', '2')], [fresh('x/one', '2')]], {
    beside: commit('y/b', '3'),
  });
  expect(two).toMatchObject({ ok: true, commits: 1, attempts: 2, refused: [{ entry: 1 }] });
  expect([read(bus, 'y/a'), read(bus, 'y/b'), read(bus, 'x/two')]).toEqual(['1', '3', '2']);
  first.close();
  second.close();
});

it('a change requires what it was made from, at every attempt', { tags: 'long' }, async () => {
  const bus = new Bus();
  const [a, b] = [await bus.host('a', { worker: 'true' }), await bus.host('b', { worker: 'true' })];
  const [first, second] = [await opened(a), await opened(b)];
  await first.publish([[commit('x/file', 'old')]]);
  await second.refresh();
  const oid = idOf(bus, 'x/file');
  const requires = [{ path: 'x/file', oid }];
  expect(await first.publish([[commit('x/file', 'mine', requires)]])).toMatchObject({
    ok: true,
    commits: 1,
    refused: [],
  });
  expect(await second.publish([[commit('x/file', 'theirs', requires)]])).toMatchObject({
    ok: true,
    commits: 0,
    refused: [{ entry: 0, reason: 'x/file was changed on the bus since it was read' }],
  });
  // Its answer was lost, but its content is there.
  expect(await first.publish([[commit('x/file', 'mine', requires)]])).toMatchObject({
    ok: true,
    commits: 0,
    refused: [],
  });
  const gone = [{ path: 'x/none', oid }];
  expect(await first.publish([[commit('x/file', 'again', gone)]])).toMatchObject({
    refused: [{ reason: 'x/none is gone from the bus since it was read' }],
  });
  first.close();
  second.close();
  expect(read(bus, 'x/file')).toBe('mine');
});

it('what a neighbour waits to push is taken along only where its requirements hold', async () => {
  const bus = new Bus();
  const transport = await opened(await bus.host('a', { worker: 'true' }));
  await transport.publish([[commit('x/one', 'there')]]);
  const ended: unknown[][] = [];
  const result = await transport.publish([[fresh('x/mine', 'mine')]], {
    turns: {
      lostRace: () => undefined,
      take: () =>
        Promise.resolve({
          kind: 'turn',
          tip: undefined,
          along: [
            { ticket: 'refused', commits: [fresh('x/one', 'theirs')] },
            { ticket: 'taken', commits: [fresh('x/two', 'theirs')] },
          ],
          end: (...said: unknown[]) => {
            ended.push(said);
            return Promise.resolve();
          },
        }),
    },
  });
  transport.close();
  expect(result).toMatchObject({ ok: true, refused: [] });
  expect(ended).toEqual([[git(bus.hub, 'rev-parse', 'main').trim(), ['taken']]]);
  expect(read(bus, 'x/one')).toBe('there');
});

it('what somebody says to have taken along is pushed all the same when the branch was set back since', async () => {
  const bus = new Bus();
  const transport = await opened(await bus.host('a', { worker: 'true' }));
  const tip = git(bus.hub, 'rev-parse', 'main').trim();
  const result = await transport.publish([[fresh('x/mine', 'mine')]], {
    turns: { lostRace: () => undefined, take: () => Promise.resolve({ kind: 'done', tip }) },
  });
  expect(result).toMatchObject({ ok: true, refused: [] });
  expect(read(bus, 'x/mine')).toBe('mine');
  // If the remote cannot be reached, the commit still has to be pushed.
  bus.unplug();
  const unseen = await transport.publish([[fresh('x/more', 'mine')]], {
    turns: { lostRace: () => undefined, take: () => Promise.resolve({ kind: 'done', tip }) },
  });
  bus.plug();
  transport.close();
  expect(unseen.ok).toBe(false);
});

it('a turn ends also when the attempt in it throws', async () => {
  const bus = new Bus();
  const transport = await opened(await bus.host('a', { worker: 'true' }));
  let ended = 0;
  const end = (): Promise<void> => {
    ended++;
    return Promise.resolve();
  };
  const publishing = transport.publish([[fresh('x/mine', 'mine')]], {
    refuses: () => Promise.reject(new Error('broken')),
    turns: {
      lostRace: () => undefined,
      take: () => Promise.resolve({ kind: 'turn', tip: undefined, along: [], end }),
    },
  });
  await expect(publishing).rejects.toThrow('broken');
  transport.close();
  expect(ended).toBe(1);
});

it('a message whose place is taken by other bytes is kept aside, said, and overwrites nothing', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const question = await host.send('worker', 'the first');
  const path = `data/channels/${host.channel()}/${question}`;
  const at = new Date().toISOString();
  const id = '01J0000000000000000000000A';
  const content = read(bus, path).replace('the first', 'another');
  const author = { name: 'operator', email: 'o@x' };
  const entry = { id, commits: [{ at, author, subject: 'x', files: [{ path, content }] }] };
  putRow(host.state, 'outbox', entry);
  expect(rowsIn(host.state, 'outbox')).toHaveLength(1);
  const before = git(bus.hub, 'rev-parse', 'main');
  const synced = await host.run('sync');
  expect(synced.code).toBe(1);
  expect(synced.err).toContain(`another file stands at ${path} on the bus, and is not overwritten`);
  expect(git(bus.hub, 'rev-parse', 'main')).toBe(before);
  expect(rowsIn(host.state, 'outbox')).toEqual([]);
  const { health } = JSON.parse((await host.run('status', '--json')).out) as {
    health: { ok: boolean; problems: string[] };
  };
  expect(health.ok).toBe(false);
  expect(health.problems.join('\n')).toContain(`${path}: another file stands at`);
  expect((await host.run('sync', '--retry')).code).toBe(1);
  expect(rowsIn(host.state, 'outbox-aside')).toHaveLength(1);
});

it('what gathered in an outage and is too large for one push goes in parts; one message that is too large by itself is kept aside', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: { default: { cli: 'echo done', count: 1 } } });
  git(bus.hub, 'config', 'receive.maxInputSize', '60000');
  const noise = (bytes: number): string => {
    let text = '';
    while (text.length < bytes) text += Math.random().toString(36).slice(2);
    return text;
  };
  bus.unplug();
  for (let n = 0; n < 7; n++) await host.run('send', '--to', 'worker', noise(20_000));
  const large = await host.run('send', '--to', 'worker', '--', noise(100_000));
  expect(large.out).toMatch(/^Queued: /);
  for (let n = 0; n < 7; n++) await host.run('send', '--to', 'worker', noise(20_000));
  bus.plug();
  const synced = await host.run('sync');
  expect(synced.err).toMatch(/maximum allowed size|unpack/);
  expect(synced.out).toContain('Pushed: 14, not on the remote: 1');
  expect(bus.messages()).toHaveLength(14);
  const status = await host.run('status');
  expect(status.out).toContain('kept aside since');
  const sent = await host.run('send', '--to', 'worker', '--', noise(100_000));
  expect(sent.code).not.toBe(0);
  expect(sent.err).toContain('crosstalk sync --retry');
  git(bus.hub, 'config', 'receive.maxInputSize', '0');
  expect((await host.run('sync', '--retry')).out).toContain('Pushed: 2');
  expect(bus.messages()).toHaveLength(16);
  expect((await host.run('status')).out).not.toContain('kept aside');
});

it('an entry that is kept aside and put back is in one place at any time', async () => {
  const root = scratch();
  const outbox = new Outbox(root);
  const entry = { id: '01ENTRY', commits: [] };
  await outbox.put(entry);
  const places: string[] = [];
  // Whoever looks from outside sees what is committed.
  onCrashPoint(() => {
    const kinds = ['outbox', 'outbox-held', 'outbox-aside'];
    places.push(kinds.filter((kind) => rowsIn(root, kind).length > 0).join());
  });
  onTestFinished(() => {
    onCrashPoint(() => undefined);
  });
  for (let time = 0; time < 3; time++) {
    await outbox.setAside(entry, 'no', '2026-06-09T19:00:00.000Z');
    expect(await outbox.restore()).toBe(1);
  }
  const once = ['outbox', 'outbox-aside', 'outbox-aside', 'outbox'];
  expect(places).toEqual([...once, ...once, ...once]);
  expect(await outbox.all()).toMatchObject([entry]);
});

it('a commit that may be left out does not refuse its entry', async () => {
  const bus = new Bus();
  const transport = await opened(await bus.host('a', { worker: 'true' }));
  const optional = (path: string, content: string): Commit => ({
    ...fresh(path, content),
    optional: true,
  });
  await transport.publish([[fresh('x/one', 'first')]]);
  const result = await transport.publish([
    [fresh('x/two', 'second'), optional('x/one', 'second')],
    [fresh('x/three', 'third'), optional('x/four', '4')],
    [fresh('x/five', 'fifth'), optional('x/four', 'four')],
  ]);
  transport.close();
  expect(result).toMatchObject({ ok: true, commits: 4, refused: [] });
  expect([read(bus, 'x/one'), read(bus, 'x/two'), read(bus, 'x/four')]).toEqual([
    'first',
    'second',
    '4',
  ]);
});
