import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MAX_BATCH } from '../../src/protocol/thread.ts';
import { agent } from '../support/agents.ts';
import { fastImport } from '../support/bulk.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

const WORKER = `sed -n '/^--- Message/,$p' | sed -n 's/^part of \\(.*\\)/done for \\1/p'`;

/** The boss's answers and their addressees, in any order. */
const summaries = (bus: Bus): string[] =>
  bus
    .from('boss')
    .filter(({ message }) => message.re.length > 0 && message.interim === undefined)
    .map(({ message }) => `${message.to.map(({ name }) => name).join()}: ${message.body.trim()}`)
    .sort();

const ask = (host: Host, asker: string): Promise<string> =>
  host.send('boss', `goal of ${asker}`, '--from', asker);

it(
  'a part of one asker’s goal and another asker’s new goal wait together: each gets its own answer',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { boss: agent('delegator') });
    const back = await bus.host('back', { worker: WORKER });
    await ask(front, 'alice');
    await front.once();
    await back.once();
    await ask(front, 'bob');
    await front.once();
    await back.once();
    await front.once();
    expect(summaries(bus)).toEqual(['alice: summary for alice', 'bob: summary for bob']);
  },
);

it('of goals that overlap nobody gets the summary of another', { tags: 'long' }, async () => {
  const bus = new Bus();
  const front = await bus.host('front', { boss: agent('delegator') });
  const back = await bus.host('back', { worker: { default: { cli: WORKER, count: 2 } } });
  const askers = ['ann', 'ben', 'cleo', 'dan', 'eve', 'finn'];
  for (const [index, asker] of askers.entries()) {
    await ask(front, asker);
    await front.once();
    if (index % 2 === 1) await back.once();
  }
  for (let pass = 0; pass < 3; pass++) {
    await back.once();
    await front.once();
  }
  expect(summaries(bus)).toEqual(askers.map((asker) => `${asker}: summary for ${asker}`));
});

it('new tasks of one asker that wait together are one run and one answer, those of two askers are two', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { boss: 'grep -c "^--- Message"' });
  for (const asker of ['ann', 'ben', 'ann']) await ask(host, asker);
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'dispatch_start')).toHaveLength(2);
  expect(summaries(bus)).toEqual(['ann: 2', 'ben: 1']);
});

it(
  'mail for one actor that is larger than a prompt may be goes to several runs',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'grep -c "^--- Message"' });
    const text = join(bus.root, 'text');
    writeFileSync(text, `${'x'.repeat(99)}\n`.repeat(9000));
    for (let n = 0; n < 6; n++) await host.run('send', '--to', 'worker', '--file', text);
    await host.once();
    expect(bus.from('worker').map(({ message }) => message.body.trim())).toEqual(['4', '2']);
  },
);

it('a run of several messages says which of them a task is for, and the answer leads back to that one', async () => {
  const bus = new Bus();
  const boss = `refs=$(sed -n 's/^--- Message.*ref: \\(.*\\)) ---$/\\1/p'); set -- $refs
crosstalk send --to worker --for "$2" "about the second" >&2
crosstalk send --to worker --for nothing "about none" >&2 || echo "refused with $?"
crosstalk send --to worker --for "$1" --new "both" >&2 || echo "refused with $?"`;
  const host = await bus.host('front', { boss, worker: { default: { cli: 'cat >/dev/null' } } });
  await host.send('boss', 'first');
  const second = await host.send('boss', 'second');
  await host.once();
  const own = bus
    .from('boss')
    .map(({ message: { to, re, cause, body } }) => ({ to, re, cause, body }));
  expect(own).toContainEqual({
    to: [{ name: 'worker' }],
    re: [],
    cause: [second],
    body: 'about the second',
  });
  expect(own).toHaveLength(2);
  expect(own.at(-1)?.body).toBe('refused with 2\nrefused with 2\n');
  const outside = await host.run('send', '--to', 'worker', '--for', second, 'x');
  expect(outside).toMatchObject({ code: 2 });
  expect(outside.err).toContain('is for a run, which is handed messages; leave it out');
});

it(
  'mail for a tier that has a free place does not wait behind a thousand messages for another',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const gate = join(bus.root, 'gate');
    const host = await bus.host('front', {
      worker: {
        slow: `for i in $(seq 600); do test -e ${gate} && break; sleep 0.1; done; echo slow`,
        quick: 'echo quick',
      },
    });
    const folder = `data/channels/${host.channel()}/2026/06/09`;
    const waiting = Array.from({ length: MAX_BATCH + 100 }, (_, n): [string, string] => [
      `${folder}/${String(n).padStart(9, '0')}Z-${n.toString(16).padStart(8, '0')}.md`,
      `---\nfrom: asker${String(n)}\nto: worker\ntype: text\ntimestamp: 2026-06-09T19:00:00.000Z\n---\n\nhi\n`,
    ]);
    await fastImport(bus.hub, waiting);
    const running = host.start('--grace', '0');
    await running.saw('dispatch_start');
    const urgent = await host.send('worker', 'now', '--tier', 'quick', '--from', 'ann');
    await until('the answer', () => bus.from('worker').length > 0);
    expect(bus.from('worker').map(({ message }) => message.re)).toEqual([[urgent]]);
  },
);

it(
  'of what peers answer to one goal at the same time one run is made after the other, and the goal is answered once',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const boss = { cli: agent('crew.js', 'coordinator'), count: 3 };
    const host = await bus.host('front', { boss: { default: boss } });
    host.declare({ w1: 'true' }, 'away');
    const folder = `data/channels/${host.channel()}`;
    const goal = await host.send('boss', 'goal one w1', '--from', 'alice');
    await host.once();
    const [part = ''] = bus.from('boss').map(({ relPath }) => relPath);
    // The state after a kill in the middle of the fan-out: the part was requested twice, and done
    // twice.
    const again = part.replace(/-[0-9a-f]+/, '-aaaaaaaaaaaa');
    const head = 'type: text\ntimestamp: 2026-11-22T12:00:00Z\n';
    const done = (relPath: string, re: string): Record<string, string> => ({
      [`${folder}/${relPath}`]: `---\nfrom: w1\nto: boss@front\nhost: back\nre: ${re}\n${head}---\n\ndid one w1\n`,
    });
    host.edit({
      [`${folder}/${again}`]: `---\nfrom: boss\nto: w1\nhost: front\ncause: ${goal}\n${head}---\n\npart one w1\n`,
      ...done('2099/01/01/000000001Z-bbbbbbbb.md', part),
    });
    const running = host.start();
    await running.saw('dispatch_start');
    host.edit(done('2099/01/01/000000002Z-cccccccc.md', again));
    await until('both are dealt with', () => running.count('dispatch_done') === 2);
    expect(summaries(bus)).toEqual(['alice: sum one']);
  },
);
