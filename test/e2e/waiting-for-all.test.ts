import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Cost } from '../../src/actions/reading/cost.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Event, type Host, type Stored } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { tipOf } from '../support/history.ts';
import { until } from '../support/wait.ts';

const PEERS = ['w1', 'w2', 'w3', 'w4', 'w5'];

/** A line of shell that waits until a gate is open. */
const gate = (name: string): string =>
  `cat >/dev/null; until [ -e "$GATES/${name}" ]; do sleep 0.05; done`;

/** A coordinator on one machine and five workers on another, each of which waits until it may go on. */
class Crew {
  readonly bus = new Bus();
  readonly gates = join(this.bus.root, 'gates');
  front!: Host;
  back!: Host;
  /** The runs of the coordinator, each with its messages. */
  readonly runs: string[][] = [];
  readonly log: Event[] = [];

  /** @param profile lines of the coordinator's profile @param clis of workers that do something else */
  static async with(profile: string[], clis: Record<string, string> = {}): Promise<Crew> {
    const crew = new Crew();
    mkdirSync(crew.gates);
    const workers = PEERS.map((name) => {
      const cli = clis[name] ?? `${gate(name)}; echo part`;
      return [name, { default: { cli: `GATES=${crew.gates}; ${cli}`, attempts: 1 } }];
    });
    crew.front = await crew.bus.host('front', { boss: agent('coordinator', ...PEERS) });
    crew.back = await crew.bus.host('back', Object.fromEntries(workers) as never);
    const lines = ['---', 'name: boss', ...profile, '---', '', 'Sum up.', ''];
    crew.front.edit({ 'local/actors/boss.md': lines.join('\n') });
    return crew;
  }

  open(name: string): void {
    writeFileSync(join(this.gates, name), '');
  }

  /** Lets a worker answer, and waits until its answer is on the bus. */
  async answers(name: string): Promise<void> {
    const before = this.bus.from(name).length;
    this.open(name);
    await until(`the answer of ${name}`, () => this.bus.from(name).length > before);
  }

  /** One pass of the coordinator's dispatcher, which is a fresh one each time. */
  async pass(): Promise<void> {
    for (const event of await this.front.once()) {
      this.log.push(event);
      if (event.event === 'dispatch_start') this.runs.push(event['messages'] as string[]);
    }
  }

  /** What is on the bus, for whoever has to find out why a run was made. */
  get told(): string {
    const all = ['boss', ...PEERS].flatMap((name) => this.bus.from(name));
    return all.map(({ relPath, message }) => `${relPath} ${JSON.stringify(message)}`).join('\n');
  }

  get sums(): Stored[] {
    return this.bus.from('boss').filter(({ message }) => message.re.length > 0);
  }

  get joining(): Event[] {
    return this.log.filter(({ event }) => event === 'joining');
  }
}

it.each([
  ['wake: all', 2],
  ['wake: each', 6],
])(
  'a coordinator that gives five parts away, with %s, is run %i times',
  { tags: 'long' },
  async (wake, runs) => {
    const crew = await Crew.with([wake]);
    await crew.front.send('boss', 'goal');
    await crew.pass();
    crew.back.start('--grace', '0');
    for (const name of PEERS) {
      await crew.answers(name);
      await crew.pass();
    }

    expect(crew.runs).toHaveLength(runs);
    expect(crew.sums).toHaveLength(1);
  },
);

it(
  'an answer waits until the tasks are on the remote that were given away after it came',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const go = join(bus.root, 'go');
    const asks = (...peers: string[]): string =>
      peers.map((peer) => `crosstalk send --to ${peer} part >&2`).join('; ');
    const front = await bus.host('front', {
      boss: `if grep -q '(you) to'; then echo sum; else ${asks('w1')}; until [ -e ${go} ]; do sleep 0.05; done; ${asks('w2', 'w3')}; fi`,
      w1: 'cat >/dev/null; echo part',
      w2: 'cat >/dev/null; echo part',
      w3: 'cat >/dev/null; echo part',
    });
    front.edit({ 'local/actors/boss.md': '---\nname: boss\nwake: all\n---\n' });
    const running = front.start('--grace', '0');
    await front.send('boss', 'goal');
    await until('the first answer', () => bus.from('w1').length > 0);
    await running.saw('tick', ({ tip }) => tip === tipOf(bus));
    bus.unplug();
    writeFileSync(go, '');
    await running.saw('dispatch_silent', ({ actor }) => actor === 'boss');
    bus.plug();
    await until('the sum', () => bus.from('boss').find(({ message }) => message.re.length > 0));

    const runs = running.events.filter(
      ({ event, actor }) => event === 'dispatch_start' && actor === 'boss',
    );
    expect(runs.map(({ messages }) => (messages as string[]).length)).toEqual([1, 3]);
  },
);

it(
  'answers in several channels are summed up in one run, which sees all of them',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const prompt = join(bus.root, 'prompt');
    const asks = ['w1', 'w2 --channel side', 'w3', 'w4 --channel side'];
    const sends = asks.map((to) => `crosstalk send --to ${to} part >&2`).join('; ');
    const worker = (name: string): string => `cat >/dev/null; echo part of ${name}`;
    const front = await bus.host('front', {
      boss: `tee ${prompt} | if grep -q '(you) to'; then cat >/dev/null; echo sum; else ${sends}; fi`,
      ...Object.fromEntries(['w1', 'w2', 'w3', 'w4'].map((name) => [name, worker(name)])),
    });
    front.edit({ 'local/actors/boss.md': '---\nname: boss\nwake: all\n---\n' });
    await front.run('channel', 'create', 'side');
    await front.send('boss', 'goal', '--channel', 'general');
    const running = front.start();
    const taken = (): number =>
      running.events.filter(({ event, actor }) => event === 'dispatch_start' && actor === 'boss')
        .length;
    await until('both batches', () => taken() === 3);
    await running.stop();

    const sums = bus.from('boss').filter(({ message }) => message.re.length > 0);
    expect(sums.map(({ message }) => message.body)).toEqual(['sum\n']);
    for (const name of ['w1', 'w2', 'w3', 'w4'])
      expect(readFileSync(prompt, 'utf8')).toContain(`part of ${name}`);
    const { rows } = JSON.parse((await front.run('cost', '--json')).out) as Cost;
    expect(rows.find(({ what }) => what === 'boss')?.runs).toBe(2);
    expect((await front.once()).map(({ event }) => event)).not.toContain('dispatch_start');
  },
);

it(
  'a worker whose dispatcher is killed holds the others up until it is back, and no longer',
  { tags: 'slow' },
  async () => {
    const crew = await Crew.with(['wake: all']);
    await crew.front.send('boss', 'goal');
    await crew.pass();
    const argv = ['dispatch', '--host', 'back', '--interval', '0.2'];
    const killed = new Program(crew.back, ...argv);
    for (const name of PEERS.slice(0, 4)) await crew.answers(name);
    expect(await killed.stop('SIGKILL')).toBe('SIGKILL');
    await crew.pass();
    expect(crew.runs).toHaveLength(1);
    expect(crew.joining.at(-1)).toMatchObject({ actor: 'boss', waits_for: ['w5'] });

    new Program(crew.back, ...argv);
    await crew.answers('w5');
    await crew.pass();
    expect(crew.runs.map((messages) => messages.length)).toEqual([1, 5]);
  },
);

it(
  'the notice of a failure counts as an answer, and a word on the way neither counts nor wakes',
  { tags: 'slow' },
  async () => {
    const crew = await Crew.with(['wake: all'], {
      w1: `${gate('word')}; crosstalk send --to boss 'half of it' >&2; ${gate('w1')}; echo whole`,
      w2: 'exit 3',
    });
    await crew.front.send('boss', 'goal');
    await crew.pass();
    crew.back.start('--grace', '0');
    await until('the notice', () => crew.bus.from('w2')[0]?.message.failed !== undefined);
    for (const name of ['w3', 'w4', 'w5']) await crew.answers(name);
    await crew.pass();
    expect(crew.runs, crew.told).toHaveLength(1);
    // Last, as it waits a minute when only its writer owes an answer.
    crew.open('word');
    await until('the word', () => crew.bus.from('w1')[0]?.message.interim === true);
    await crew.pass();
    expect(crew.runs, crew.told).toHaveLength(1);
    await crew.answers('w1');
    await crew.pass();

    expect(crew.runs.map((messages) => messages.length)).toEqual([1, 6]);
    expect(crew.runs[1]).toContain(crew.bus.from('w2')[0]?.relPath);
  },
);

it(
  'a new task wakes at once while answers wait, and so does what belongs to another question',
  { tags: 'long' },
  async () => {
    const crew = await Crew.with(['wake: all']);
    await crew.front.send('boss', 'goal');
    await crew.pass();
    crew.back.start('--grace', '0');
    await crew.answers('w1');
    await crew.pass();
    const other = await crew.front.send('boss', 'another goal', '--from', 'bob');
    await crew.pass();

    expect(crew.runs).toHaveLength(2);
    expect(crew.runs[1]).toEqual([other]);
  },
);

it(
  'what waits goes on waiting until the same time after a restart, and is handed over when it comes',
  { tags: 'slow' },
  async () => {
    const crew = await Crew.with(['wake: all', 'join_timeout: 1h']);
    await crew.front.send('boss', 'goal');
    await crew.pass();
    const back = crew.back.start('--grace', '0');
    await crew.answers('w1');
    await crew.answers('w2');
    await back.stop();
    await crew.pass();
    await crew.pass();
    const times = crew.joining.map((event) => event['until']);
    expect(times).toHaveLength(2);
    expect(times[1]).toBe(times[0]);

    const offset = join(crew.bus.root, 'offset');
    writeFileSync(offset, '3500');
    const clock = fileURLToPath(new URL('../support/shifted-clock.cjs', import.meta.url));
    const later = { NODE_OPTIONS: `--require ${clock}`, CLOCK_OFFSET_FILE: offset };
    const machine = { dir: crew.front.dir, env: { ...crew.front.env, ...later } };
    const early = new Program(machine, 'dispatch', '--once', '--host', 'front');
    expect(await early.ended()).toBe(0);
    expect(early.events.map(({ event }) => event)).not.toContain('dispatch_start');
    writeFileSync(offset, '3600');
    const due = new Program(machine, 'dispatch', '--once', '--host', 'front');
    expect(await due.ended()).toBe(0);
    const started = due.events.find(({ event }) => event === 'dispatch_start');
    expect(started?.['messages']).toHaveLength(2);
  },
);

it(
  'a clock that is set back while answers wait lets them wait no longer than once more',
  { tags: 'long' },
  async () => {
    const crew = await Crew.with(['wake: all', 'join_timeout: 2m']);
    const offset = join(crew.bus.root, 'offset');
    writeFileSync(offset, '3600');
    const clock = fileURLToPath(new URL('../support/shifted-clock.cjs', import.meta.url));
    const ahead = { NODE_OPTIONS: `--require ${clock}`, CLOCK_OFFSET_FILE: offset };
    const machine = { dir: crew.front.dir, env: { ...crew.front.env, ...ahead } };
    const running = new Program(machine, 'dispatch', '--host', 'front', '--interval', '0.2');
    await crew.front.send('boss', 'goal');
    await until('the tasks', () => running.events.some(({ event }) => event === 'dispatch_done'));
    crew.back.start('--grace', '0');
    await crew.answers('w1');
    const joined = (): number => running.events.findIndex(({ event }) => event === 'joining');
    await until('the wait', () => joined() >= 0);
    writeFileSync(offset, '0');
    // Only once it has seen that can the clock go on: it waits for two minutes from there, and not for the hour.
    // A tick is logged at its end, so only the second one has looked at nothing but the new time.
    const later = (): number =>
      running.events.filter(
        ({ event, ts }, at) =>
          event === 'tick' && at > joined() && Date.parse(String(ts)) < Date.now() + 60_000,
      ).length;
    await until('a look at the clock', () => later() >= 2);
    writeFileSync(offset, '130');
    const [part] = crew.bus.from('w1');
    await until('the run for the answer', () =>
      running.events.find(
        ({ event, messages }) =>
          event === 'dispatch_start' && (messages as string[]).includes(part?.relPath ?? ''),
      ),
    );
    await running.stop('SIGTERM');
  },
);

it(
  'a dispatcher that goes on running hands over what has waited long enough',
  { tags: 'long' },
  async () => {
    const crew = await Crew.with(['wake: all', 'join_timeout: 3s']);
    const running = crew.front.start('--grace', '0');
    await crew.front.send('boss', 'goal');
    // The answers wait from when they come, and a run that still gives parts has to end first.
    await running.saw('dispatch_silent');
    crew.back.start('--grace', '0');
    await crew.answers('w1');
    const { until: time } = await running.saw('joining');
    const first = crew.bus.from('w1').map(({ relPath }) => relPath);
    const started = await running.saw('dispatch_start', ({ messages }) =>
      (messages as string[]).includes(first[0] ?? ''),
    );
    expect(Date.parse(String(started['ts']))).toBeGreaterThanOrEqual(Date.parse(String(time)));
  },
);

it(
  'explain, status, thread and waiting say whom the answers wait for, and until when',
  { tags: 'long' },
  async () => {
    const crew = await Crew.with(['wake: all']);
    const running = crew.front.start('--grace', '0');
    const goal = await crew.front.send('boss', 'goal');
    crew.back.start('--grace', '0');
    for (const name of ['w1', 'w3']) await crew.answers(name);
    await running.saw('joining');
    const json = async <T>(...argv: string[]): Promise<T> =>
      JSON.parse((await crew.front.run(...argv, '--json')).out) as T;
    interface Shown {
      dispatcher: { joining?: { messages: string[]; waits_for: string[]; until: string }[] };
    }
    const [joining] = await until('both answers', async () => {
      const { dispatcher } = await json<Shown>('status');
      return dispatcher.joining?.[0]?.messages.length === 2 && dispatcher.joining;
    });
    const { waits_for, until: time, messages } = joining!;
    expect(waits_for).toEqual(['w2', 'w4', 'w5']);

    const part = messages[0]!;
    const whom = `waits for w2, w4, w5, until ${time} at the latest`;
    for (const message of [part, goal]) {
      expect((await crew.front.run('explain', message, 'boss')).out).toContain(whom);
      const explained = await json<{ facts: unknown }>('explain', message, 'boss');
      expect(explained.facts).toMatchObject({ joining: { waits_for, until: time } });
    }
    expect((await crew.front.run('status')).out).toContain(
      'boss has 2 answers and waits for w2, w4, w5',
    );
    expect((await crew.front.run('thread', part)).out).toContain('it waits for w2, w4, w5');
    const [waited] = await json<{ held_up: string[] }[]>('wait', '--timeout', '0', goal);
    expect(waited?.held_up).toEqual([`boss has 2 answers and ${whom}`]);
  },
);
