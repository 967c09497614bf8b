import fc from 'fast-check';
import { KILLED, type Machine } from './machine.ts';
import type { World } from './world.ts';

/** What the model knows itself: which steps make sense at this point. */
export interface Plan {
  machines: Set<string>;
  running: Set<string>;
  saved: Set<string>;
  isPlugged: boolean;
}

interface Kind {
  /** The words that may follow, by position. */
  words: readonly (readonly string[])[];
  /** Whether it makes sense; if the first word names a machine, that machine exists. */
  when?: (plan: Plan, first: string) => boolean;
  then?: (plan: Plan, first: string) => unknown;
  run: (world: World, words: readonly string[], machine: Machine) => unknown;
}

const MACHINES = ['front', 'back', 'late', 'front-copy'];
const DAY = 86_400_000;
const ACTORS = ['worker', 'worker@back', 'boss', 'boss', 'flaky', 'quiet', 'silent', 'failing'];
/** If a machine exists twice, only its running dispatchers can report that. */
const alone = ({ machines, running }: Plan, first: string): boolean =>
  running.has(first) || !first.startsWith('front') || !machines.has('front-copy');
const stopped = (plan: Plan, first: string): boolean => !plan.running.has(first);

const KINDS: Record<string, Kind> = {
  ask: {
    words: [MACHINES, ['ann', 'ben', 'cleo'], ACTORS],
    run: (world, [from = '', asker = '', to = '']) => world.ask(asker, from, to),
  },
  pass: {
    words: [MACHINES],
    when: alone,
    run: (world, _, machine) => machine.pass(() => world.hub.tip()),
  },
  start: {
    words: [MACHINES],
    when: stopped,
    then: ({ running }, first) => running.add(first),
    run: (_, __, machine) => {
      machine.launch();
    },
  },
  stop: {
    words: [MACHINES],
    when: (plan, first) => plan.running.has(first) && !plan.machines.has('front-copy'),
    then: ({ running }, first) => running.delete(first),
    run: (_, __, machine) => machine.halt(),
  },
  kill: {
    words: [MACHINES, ['3', '8', '13', '20', '30', '45', '60']],
    when: (plan, first) => stopped(plan, first) && alone(plan, first),
    run: async (world, [, count], machine) => {
      if (!(await machine.doom(Number(count)))) return;
      world.kills.set(machine.alias, (world.kills.get(machine.alias) ?? 0) + 1);
    },
  },
  fault: {
    words: [MACHINES, KILLED],
    run: (_, [, word = ''], machine) => {
      machine.killGit(word);
    },
  },
  retry: { words: [MACHINES], run: (_, __, machine) => machine.run('dlq', '--retry', 'all') },
  sync: { words: [MACHINES], run: (_, __, machine) => machine.run('sync') },
  clock: {
    words: [MACHINES, ['-3', '0', '2']],
    run: (_, [, days], machine) => {
      machine.surroundings.clock = Number(days) * DAY;
    },
  },
  save: {
    words: [MACHINES],
    when: stopped,
    then: ({ saved }, first) => saved.add(first),
    run: (_, __, machine) => {
      machine.save();
    },
  },
  restore: {
    words: [MACHINES],
    when: (plan, first) => stopped(plan, first) && plan.saved.has(first),
    run: (world, _, machine) => {
      machine.restore();
      world.restored.add(machine.alias);
    },
  },
  copy: {
    words: [['front']],
    when: (plan, first) => stopped(plan, first) && !plan.machines.has('front-copy'),
    then: ({ machines }) => machines.add('front-copy'),
    run: async (world, _, machine) => {
      world.copied.add(machine.alias);
      world.machines.set('front-copy', await machine.copy(world.git));
    },
  },
  join: {
    words: [],
    when: ({ machines, isPlugged }) => isPlugged && !machines.has('late'),
    then: ({ machines }) => machines.add('late'),
    run: (world) => world.join('late'),
  },
  readdress: { words: [MACHINES], run: (world, _, machine) => world.readdress(machine) },
  archive: { words: [MACHINES], run: (world, _, machine) => world.archive(machine) },
  unplug: {
    words: [],
    when: ({ isPlugged }) => isPlugged,
    then: (plan) => (plan.isPlugged = false),
    run: ({ hub }) => {
      hub.unplug();
    },
  },
  plug: {
    words: [],
    when: ({ isPlugged }) => !isPlugged,
    then: (plan) => (plan.isPlugged = true),
    run: ({ hub }) => {
      hub.plug();
    },
  },
  rewind: {
    words: [['1', '2', '4', '8', '99']],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }, [count]) => {
      hub.rewind(Number(count));
    },
  },
  'come-back': {
    words: [],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }) => {
      hub.comeBack();
    },
  },
  remove: {
    words: [],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }) => {
      hub.remove();
    },
  },
  revert: {
    words: [],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }) => {
      hub.revert();
    },
  },
  // The n-th answer of a worker, from the newest on.
  drop: {
    words: [['1', '2', '3']],
    when: ({ isPlugged }) => isPlugged,
    run: (world, [back]) => {
      const answer = world.answers().at(-Number(back));
      if (answer === undefined) return;
      const path = `${answer.channel}/${answer.relPath}`;
      world.hub.drop(`data/channels/${path}`);
      if (!world.hub.messages().some(({ relPath }) => relPath === answer.relPath))
        world.dropped.add(path);
    },
  },
  twin: {
    words: [],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }) => {
      const first = hub.messages().find(({ message }) => message.body.startsWith('ask '));
      if (first === undefined || hub.isRemoved) return;
      const from = `data/channels/${first.channel}/${first.relPath}`;
      hub.put(from.replace(first.channel, 'aaaaaaaa-0000-4000-8000-000000000000'), hub.read(from));
    },
  },
  squat: {
    words: [MACHINES],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }, _, machine) => {
      const queued = machine.queued().find(({ content }) => /^ask /m.test(content));
      if (queued === undefined) return;
      const other = queued.content.replace(/^ask .*$/m, 'other').replace(/^to: .*$/m, 'to: nobody');
      hub.put(queued.path, other);
    },
  },
  rename: {
    words: [],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }) => {
      hub.rename();
    },
  },
  follow: { words: [MACHINES], run: (world, _, machine) => world.follow(machine) },
  delete: {
    words: [MACHINES],
    when: ({ isPlugged }) => isPlugged,
    run: ({ hub }, _, machine) => {
      hub.delete(machine.dir);
    },
  },
};

/** One step of a run of the model, as a line of text with which it can be repeated. */
export class Step implements fc.AsyncCommand<Plan, World> {
  readonly #text: string;
  readonly #kind: Kind;
  readonly #words: string[];

  constructor(text: string) {
    const [name = '', ...words] = text.split(' ');
    const kind = KINDS[name];
    if (kind === undefined) throw new Error(`no such step: ${text}`);
    this.#text = text;
    this.#kind = kind;
    this.#words = words;
  }

  check(plan: Readonly<Plan>): boolean {
    const [first = ''] = this.#words;
    if (MACHINES.includes(first) && !plan.machines.has(first)) return false;
    return this.#kind.when?.(plan, first) ?? true;
  }

  async run(plan: Plan, world: World): Promise<void> {
    const [first = ''] = this.#words;
    this.#kind.then?.(plan, first);
    const machine = world.machine(first) ?? world.machine('front');
    if (machine === undefined) return;
    world.done.push(this.#text);
    world.observe();
    await this.#kind.run(world, this.#words, machine);
    world.observe();
  }

  toString(): string {
    return this.#text;
  }
}

const COMMON: Record<string, number> = { ask: 12, pass: 10, start: 3, rewind: 3, kill: 3 };

/** Runs of steps; what happens often in practice is tried often. */
export function runs(size: number): fc.Arbitrary<Iterable<fc.AsyncCommand<Plan, World>>> {
  const kinds = Object.entries(KINDS).map(([name, { words }]) => ({
    weight: COMMON[name] ?? 1,
    arbitrary: fc
      .tuple(...words.map((some) => fc.constantFrom(...some)))
      .map((chosen) => new Step([name, ...chosen].join(' '))),
  }));
  const step: fc.Arbitrary<fc.AsyncCommand<Plan, World>> = fc.oneof(...kinds);
  return fc.commands([step], { maxCommands: size, size: 'max' });
}
