import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { onCrashPoint } from '../../src/crash-points.ts';
import { MessageReader } from '../../src/bus/message-reader.ts';
import { Known } from '../../src/dispatcher/intake/known.ts';
import { Mailboxes } from '../../src/protocol/mailbox.ts';
import { Settled } from '../../src/state/settled.ts';
import { agent } from '../support/agents.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { byHand, put, setBack, tipOf } from '../support/history.ts';
import { until } from '../support/wait.ts';

/** A machine whose worker counts its runs. */
async function counting(): Promise<{ bus: Bus; host: Host; runs: () => string }> {
  const bus = new Bus();
  const ledger = join(bus.root, 'ledger');
  const host = await bus.host('front', { worker: `echo run >> ${ledger}; echo done` });
  return { bus, host, runs: () => readFileSync(ledger, 'utf8') };
}

/** Several starts, because one scans what the previous one has pushed. */
async function starts(host: Host): Promise<void> {
  for (let start = 0; start < 3; start++) await host.once();
}

it(
  'a question that comes back long after its answer was published again, and after a restart, is not answered again',
  { tags: 'long' },
  async () => {
    const { bus, host, runs } = await counting();
    const before = tipOf(bus);
    const question = byHand(host.channel(), 1, 'hello');
    put(bus, question);
    await starts(host);
    setBack(bus, before);
    await starts(host);
    expect(bus.messages()).toHaveLength(1);
    put(bus, question);
    await starts(host);
    expect(runs()).toBe('run\n');
  },
);

it(
  'a question that was removed and comes back after a restart is not answered again',
  { tags: 'long' },
  async () => {
    const { bus, host, runs } = await counting();
    const question = byHand(host.channel(), 1, 'hello');
    put(bus, question);
    await starts(host);
    host.remove(question[0]);
    await starts(host);
    put(bus, question);
    await starts(host);
    expect(runs()).toBe('run\n');
  },
);

it(
  'a question that was removed while it waited is answered when it comes back, also while another is at work',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const gate = join(bus.root, 'gate');
    const wait = (name: string): string =>
      `for i in $(seq 600); do test -e ${gate}-${name} && break; sleep 0.1; done`;
    const cli = `case "$(cat)" in *alfa*) ${wait('alfa')};; *bravo*) ${wait('bravo')};; esac; echo done`;
    const host = await bus.host('front', { worker: { default: { cli, count: 2 } } });
    const running = host.start();
    const questions = ['alfa', 'bravo', 'charlie'].map((body, index) =>
      byHand(host.channel(), index + 1, body),
    );
    const third = questions[2] ?? ['', ''];
    const seen = async (): Promise<void> => {
      const tip = tipOf(bus);
      await running.saw('tick', (event) => event['tip'] === tip);
    };
    for (const question of questions) {
      put(bus, question);
      await seen();
    }
    host.remove(third[0]);
    await seen();
    writeFileSync(`${gate}-bravo`, '');
    await until('a free place', () => running.count('dispatch_start') === 3);
    await until('the answer', () => bus.from('worker').length === 1);
    put(bus, third);
    await until('the third', () => bus.from('worker').length === 2);
    writeFileSync(`${gate}-alfa`, '');
    await until('all', () => bus.from('worker').length === 3);
  },
);

it('what was sent while no dispatcher ran is published again too', { tags: 'long' }, async () => {
  const { bus, host } = await counting();
  await starts(host);
  const before = tipOf(bus);
  const sent = await host.send('nobody', 'a note');
  setBack(bus, before);
  await host.once();
  expect(bus.messages().map(({ relPath }) => relPath)).toEqual([sent]);
});

it('a memory is brought back also where no message is lost', { tags: 'long' }, async () => {
  const { bus, host } = await counting();
  await starts(host);
  const before = tipOf(bus);
  await host.run('memory', 'add', '--subject', 'tea', 'green');
  const memories = (): string =>
    git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/memories');
  const made = memories();
  setBack(bus, before);
  await host.once();
  expect(made).toContain('.md');
  expect(memories()).toBe(made);
});

it('a silence that was cut off by a crash takes no other with it', async () => {
  const settled = new Settled(scratch());
  await settled.silent('worker', 'channel', ['one']);
  onCrashPoint((point) => {
    if (point === 'row_written') throw new Error('killed');
  });
  onTestFinished(() => {
    onCrashPoint(() => undefined);
  });
  await expect(settled.silent('worker', 'channel', ['cut off'])).rejects.toThrow('killed');
  onCrashPoint(() => undefined);
  await settled.silent('worker', 'channel', ['two']);
  const places = ['one', 'cut off', 'two'].map((relPath) => ({
    ...{ actor: 'worker', channel: 'channel', relPath },
  }));
  const found = [...(await settled.of('silent', places))].map(({ relPath }) => relPath);
  expect(found).toEqual(['one', 'two']);
});

it('what a run sends about a question that leaves the bus meanwhile answers that question all the same', async () => {
  const bus = new Bus();
  const [started, gate] = [join(bus.root, 'started'), join(bus.root, 'gate')];
  const wait = `touch ${started}; for i in $(seq 600); do test -e ${gate} && break; sleep 0.1; done`;
  const host = await bus.host('front', {
    worker: `${wait}; crosstalk send --to alice "on it" >&2; echo done`,
  });
  const running = host.start();
  const question = byHand(host.channel(), 1, 'hello');
  put(bus, question);
  await until('the run', () => existsSync(started));
  host.remove(question[0]);
  const tip = tipOf(bus);
  await running.saw('tick', (event) => event['tip'] === tip);
  writeFileSync(gate, '');
  await until('both', () => bus.from('worker').length === 2);
  const relPath = question[0].split('/').slice(3).join('/');
  const said = bus.from('worker').map(({ message }) => [message.body.trim(), message.re]);
  expect(said.sort()).toEqual([
    ['done', [relPath]],
    ['on it', [relPath]],
  ]);
});

it('what was sent while no dispatcher ran is published again also when more was sent after the branch was set back', async () => {
  const { bus, host } = await counting();
  await starts(host);
  const before = tipOf(bus);
  const lost = await host.send('nobody', 'a note');
  setBack(bus, before);
  const sent = await host.send('nobody', 'another');
  // The command brings it back itself, and a dispatcher that starts then has nothing left to do.
  expect(bus.messages().map(({ relPath }) => relPath)).toEqual([lost, sent]);
  await starts(host);
  expect(bus.messages().map(({ relPath }) => relPath)).toEqual([lost, sent]);
});

it('a question that was not there when its parts were answered gets its answer when it is back', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { boss: agent('boss') });
  const back = await bus.host('back', { worker: 'echo done' });
  const question = byHand(front.channel(), 1, 'paint it', 'boss');
  put(bus, question);
  await front.once();
  front.remove(question[0]);
  await front.once();
  await back.once();
  await front.once();
  const answers = (): string[] =>
    bus
      .from('boss')
      .filter(({ message }) => message.re.some((re) => question[0].endsWith(re)))
      .map(({ message }) => message.body.trim());
  expect([bus.from('worker').length, answers()]).toEqual([1, []]);
  put(bus, question);
  await starts(front);
  expect(answers()).toEqual(['boss reports: done']);
  // Once is enough, however often it disappears and comes back.
  front.remove(question[0]);
  await starts(front);
  put(bus, question);
  await starts(front);
  expect(answers()).toEqual(['boss reports: done']);
});

it(
  'an answer that was gone while the other was dealt with completes the goal when it is back',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { lead: agent('coordinator', 'left', 'right') });
    const back = await bus.host('back', { left: 'echo left' });
    const side = await bus.host('side', { right: 'echo right' });
    const goal = await front.send('lead', 'all of it');
    await front.once();
    await back.once();
    await front.once();
    const [part] = bus.from('left');
    const path = `data/channels/${part?.channel ?? ''}/${part?.relPath ?? ''}`;
    const content = git(bus.hub, 'show', `main:${path}`);
    front.remove(path);
    await front.once();
    await side.once();
    await front.once();
    const answers = (): string[] =>
      bus
        .from('lead')
        .filter(({ message }) => message.re.includes(goal))
        .map(({ message }) => message.body.trim());
    expect([bus.from('right').length, answers()]).toEqual([1, []]);
    put(bus, [path, content]);
    await starts(front);
    expect(answers()).toEqual(['left right']);
  },
);

it('a question that is back while a run is begun for it where it was gone is answered', async () => {
  const bus = new Bus();
  const gate = join(bus.root, 'gate');
  const wait = `for i in $(seq 600); do test -e ${gate} && break; sleep 0.1; done`;
  const host = await bus.host('front', {
    worker: `case "$(cat)" in *alfa*) ${wait};; esac; echo done`,
  });
  const alfa = byHand(host.channel(), 1, 'alfa');
  const bravo = byHand(host.channel(), 2, 'bravo');
  const running = host.start();
  const seen = async (): Promise<void> => {
    const tip = tipOf(bus);
    await running.saw('tick', (event) => event['tip'] === tip);
  };
  put(bus, alfa);
  await running.saw('dispatch_start');
  put(bus, bravo);
  await seen();
  host.remove(bravo[0]);
  await seen();
  // The run for it begins now and reads a commit without it; it is back before that was read.
  const read = MessageReader.prototype.messages;
  const relPath = bravo[0].split('/').slice(3).join('/');
  let isBegun = false;
  const look = vi.spyOn(MessageReader.prototype, 'messages').mockImplementation(async function (
    this: MessageReader,
    tip,
    channel,
    relPaths,
  ) {
    const found = await read.call(this, tip, channel, relPaths);
    if (isBegun || !relPaths.includes(relPath)) return found;
    isBegun = true;
    // The answer to the other one is being pushed, so this push may have to be repeated.
    await until('its return', () => isPut(bus, bravo));
    await running.saw('tick', isOn(bus, bravo[0]));
    return found;
  });
  onTestFinished(() => {
    look.mockRestore();
  });
  writeFileSync(gate, '');
  await until('both', () => bus.from('worker').length === 2);
  await running.stop();
  await starts(host);
  expect(bus.from('worker')).toHaveLength(2);
});

it(
  'a question that a scan finds back while the run ends that did not see it is answered',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const gate = join(bus.root, 'gate');
    const wait = `for i in $(seq 600); do test -e ${gate} && break; sleep 0.1; done`;
    const host = await bus.host('front', {
      worker: `case "$(cat)" in *alfa*) ${wait};; esac; echo done`,
    });
    const alfa = byHand(host.channel(), 1, 'alfa');
    const bravo = byHand(host.channel(), 2, 'bravo');
    const running = host.start();
    const seen = async (): Promise<void> => {
      const tip = tipOf(bus);
      await running.saw('tick', (event) => event['tip'] === tip);
    };
    put(bus, alfa);
    await running.saw('dispatch_start');
    put(bus, bravo);
    await seen();
    host.remove(bravo[0]);
    await seen();
    const relPath = bravo[0].split('/').slice(3).join('/');
    let [isBegun, isLookedAt, isSettled] = [false, false, false];
    const { messages } = MessageReader.prototype;
    const { states } = Known.prototype;
    const { settle } = Mailboxes.prototype;
    // The run reads a commit without it, and ends while the scan that has found it back is at work.
    const spies = [
      vi.spyOn(MessageReader.prototype, 'messages').mockImplementation(async function (
        this: MessageReader,
        tip,
        channel,
        relPaths,
      ) {
        const found = await messages.call(this, tip, channel, relPaths);
        if (isBegun || !relPaths.includes(relPath)) return found;
        isBegun = true;
        await until('its return', () => isPut(bus, bravo));
        await until('the scan that finds it', () => isLookedAt);
        return found;
      }),
      vi.spyOn(Known.prototype, 'states').mockImplementation(async function (this: Known) {
        if (isBegun) {
          isLookedAt = true;
          await until('the end of the run', () => isSettled);
        }
        return states.call(this);
      }),
      vi.spyOn(Mailboxes.prototype, 'settle').mockImplementation(function (
        this: Mailboxes,
        actor,
        channel,
        relPaths,
      ) {
        settle.call(this, actor, channel, relPaths);
        isSettled ||= relPaths.includes(relPath);
      }),
    ];
    onTestFinished(() => {
      for (const spy of spies) spy.mockRestore();
    });
    writeFileSync(gate, '');
    await until('both', () => bus.from('worker').length === 2);
    await running.stop();
    await starts(host);
    expect(bus.from('worker')).toHaveLength(2);
  },
);

/** Commits a file to the bus; false if somebody else pushes at this moment. */
function isPut(bus: Bus, file: readonly [path: string, content: string]): boolean {
  try {
    put(bus, file);
    return true;
  } catch {
    return false;
  }
}

/**
 * Tells of a tick whether it saw everything that was removed from the bus before, and a file. It is asked every
 * few milliseconds of all ticks, in the process of the dispatcher, so each commit is looked at once.
 */
function isOn(bus: Bus, path: string): (tick: Record<string, unknown>) => boolean {
  const since = git(bus.hub, 'log', '--format=%H', '--diff-filter=D', 'main', '--', path).trim();
  const known = new Map<string, boolean>();
  return ({ tip }) => {
    const commit = String(tip);
    const range = `${since.split('\n')[0] ?? ''}..${commit}`;
    const added = ['log', '--format=%H', '--diff-filter=A', range, '--', path];
    const isThere = known.get(commit) ?? git(bus.hub, ...added).trim() !== '';
    known.set(commit, isThere);
    return isThere;
  };
}
