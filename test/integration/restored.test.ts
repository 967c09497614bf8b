import { cpSync, readFileSync, rmSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { hasSshKeygen, Key, pins } from '../support/keys.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

let backUps = 0;

/** Copies the state of a machine, as a backup does, and gives a function that puts it back. */
function backUp(host: Host): () => void {
  const copy = `${host.state}-backup-${String(++backUps)}`;
  cpSync(host.state, copy, { recursive: true });
  return () => {
    rmSync(host.state, { recursive: true });
    cpSync(copy, host.state, { recursive: true });
  };
}

const runsOf = (bus: Bus): number => {
  const file = join(bus.root, 'runs');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
};

it('a state that is restored from before a question repeats no run, and says nothing twice', async () => {
  const bus = new Bus();
  const count = (cli: string): string => `echo run >> ${join(bus.root, 'runs')}; ${cli}`;
  const host = await bus.host('front', {
    lead: count(agent('coordinator', 'left', 'right')),
    left: count('echo left'),
    right: count('echo right'),
  });
  await host.once();
  const restore = backUp(host);
  await host.send('lead', 'all of it');
  await bus.rest([host]);
  const [messages, runs] = [bus.messages().length, runsOf(bus)];
  expect([messages, runs]).toEqual([6, runs]);
  restore();
  expect((await host.once()).map(({ event }) => event)).toContain('alias_shared');
  await bus.rest([host]);
  expect([bus.messages().length, runsOf(bus)]).toEqual([messages, runs]);
  expect((await host.run('status')).code).toBe(0);
});

it.skipIf(!hasSshKeygen)(
  'what a restored state believes is named, as it may have been withdrawn since',
  async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await pins(host, 'anna', new Key(host, 'anna'));
    await host.once();
    const restore = backUp(host);
    await host.run('key', 'unpin', 'anna');
    await host.send('worker', 'hello');
    await host.once();
    restore();
    const running = host.start();
    await running.saw('alias_shared');
    await until('the finding', async () =>
      (await host.run('status')).out.includes(
        'look whether what it believes still holds: the pinned keys of anna (crosstalk key list), the approved commands of worker (crosstalk host show)',
      ),
    );
    await running.stop();
  },
);

it.each([
  ['before', 'approve'],
  ['after', 'approve'],
  ['before', 'deny'],
])(
  'a state that is restored from %s a plan was decided on (%s) takes nothing back, and repeats no run',
  async (when, word) => {
    const bus = new Bus();
    const cli = `echo run >> ${join(bus.root, 'runs')}; echo done`;
    const host = await bus.host('front', {
      worker: { default: { cli, gate: 'anna', gate_plan: cli } },
    });
    await host.send('worker', 'go', '--from', 'anna');
    await host.once();
    const before = backUp(host);
    const [plan] = bus.from('worker');
    expect((await host.run(word, plan!.relPath, 'yes', '--from', 'anna')).code).toBe(0);
    const after = backUp(host);
    await host.once();
    const [messages, runs] = [bus.messages().length, runsOf(bus)];
    expect([messages, runs]).toEqual([4, word === 'approve' ? 2 : 1]);
    (when === 'before' ? before : after)();
    await bus.rest([host]);
    expect([bus.messages().length, runsOf(bus)]).toEqual([messages, runs]);
  },
);

it('a state that is restored from before a question hands on nothing again of what is under way', async () => {
  const bus = new Bus();
  const count = (cli: string): string => `echo run >> ${join(bus.root, 'runs')}; ${cli}`;
  const front = await bus.host('front', {
    lead: count(agent('coordinator', 'left', 'right')),
  });
  const back = await bus.host('back', { left: count('echo left'), right: count('echo right') });
  await front.once();
  const restore = backUp(front);
  await front.send('lead', 'all of it');
  await front.once();
  expect([bus.messages().length, runsOf(bus)]).toEqual([3, 1]);
  restore();
  await bus.rest([front, back]);
  expect(bus.from('lead').map(({ message }) => message.body.trim())).toEqual([
    'your part',
    'your part',
    'left right',
  ]);
  expect(runsOf(bus)).toBeLessThanOrEqual(5);
});

/** Takes all messages off the bus one by one, some time later. */
function removeAll(bus: Bus): void {
  const clone = join(bus.root, 'elsewhere');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  git(
    clone,
    'rm',
    '-r',
    '--quiet',
    ...bus.messages().map((one) => `data/channels/${one.channel}/${one.relPath}`),
  );
  vi.stubEnv('GIT_COMMITTER_DATE', `${String(Math.floor(Date.now() / 1000) + 600)} +0000`);
  git(clone, 'commit', '--quiet', '-m', 'Remove');
  vi.unstubAllEnvs();
  git(clone, 'push', '--quiet');
}

/** Archives all messages, some days later. */
async function archiveAll(bus: Bus, host: Host): Promise<void> {
  const clock = join(bus.root, 'clock');
  writeFileSync(clock, String(5 * 86_400));
  const hook = fileURLToPath(new URL('../support/shifted-clock.cjs', import.meta.url));
  const env = { ...host.env, NODE_OPTIONS: `--require ${hook}`, CLOCK_OFFSET_FILE: clock };
  const before = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  const which = ['--before', before, '--bundle', join(bus.root, 'bundle'), '--yes'];
  const program = new Program({ dir: host.dir, env }, 'archive', ...which);
  expect(await program.ended(), program.err).toBe(0);
}

it.each([
  ['removed', removeAll],
  ['archived', archiveAll],
])(
  'what a restored state has yet to publish stays away if it was published and %s since',
  async (_, takeOff) => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: `echo run >> ${join(bus.root, 'runs')}; echo done`,
    });
    await host.once();
    bus.unplug();
    const queued = await host.run('send', '--to', 'worker', 'please');
    expect(queued.out).toContain('Queued');
    const restore = backUp(host);
    bus.plug();
    await bus.rest([host]);
    expect([bus.messages().length, runsOf(bus)]).toEqual([2, 1]);
    await takeOff(bus, host);
    restore();
    await bus.rest([host]);
    expect([bus.messages().length, runsOf(bus)]).toEqual([0, 1]);
    expect((await host.run('outbox')).out).toBe('');
  },
);
