import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bus, type Event, type Stored } from '../../support/bus.ts';
import { git } from '../../support/git.ts';
import { Hub } from './hub.ts';
import { Machine, SERVED } from './machine.ts';

/** A question that was reported to be sent or queued. */
export interface Asked {
  token: string;
  asker: string;
  to: string;
  /** Who has to answer: `actor@alias`, of the machines that existed when it was asked. */
  due: string[];
}

/** A dead letter, in the form in which a machine lists it. */
export interface Letter {
  actor: string;
  channel: string;
  messages: string[];
  state: string;
}

/** Milliseconds that a dispatcher is given at the end to process everything. */
const PATIENCE_MS = 30_000;
/** More rounds than this without an end are a fault themselves. */
const MAX_ROUNDS = 15;

/** The initial state of all worlds: creating it takes seconds, but copying it back is fast. */
interface Template {
  bus: Bus;
  folder: string;
  channel: string;
  floor: string;
}

let template: Template | undefined;

/** The real system: a remote, machines with dispatchers and state, and what was observed of it. */
export class World {
  readonly bus = template?.bus ?? new Bus();
  readonly hub = new Hub(this.bus);
  readonly git = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
  readonly machines = new Map<string, Machine>();
  readonly asked: Asked[] = [];
  /** Every message that was ever on the bus, by channel and path. */
  readonly ever = new Map<string, Stored>();
  /** Those whose place contained another text later. */
  readonly overwritten = new Set<string>();
  /** Answers that were removed from the history on purpose. */
  readonly dropped = new Set<string>();
  /** The number of dispatchers that were killed, by alias. */
  readonly kills = new Map<string, number>();
  /**
   * Machines whose state was set back, so that it is unknown which messages they met with silence.
   */
  readonly restored = new Set<string>();
  /** Aliases of which there are two machines. */
  readonly copied = new Set<string>();
  /** The steps so far. */
  readonly done: string[] = [];
  readonly #ledger = join(this.bus.root, 'ledger');
  channel = '';

  /** Only one world exists at a time, because all of them use the same path. */
  async open(): Promise<void> {
    const { root } = this.bus;
    if (template === undefined) {
      writeFileSync(this.#ledger, '');
      await this.join('front');
      await this.join('back');
      template = {
        bus: this.bus,
        folder: `${root}-template`,
        channel: this.channel,
        floor: this.hub.floor,
      };
      cpSync(root, template.folder, { recursive: true, preserveTimestamps: true });
    } else {
      rmSync(root, { recursive: true, force: true });
      cpSync(template.folder, root, { recursive: true, preserveTimestamps: true });
      this.channel = template.channel;
      this.hub.floor = template.floor;
      for (const alias of ['front', 'back'])
        this.machines.set(alias, new Machine(this.bus, alias, alias, this.git));
    }
  }

  async join(alias: string): Promise<void> {
    const isFirst = this.machines.size === 0;
    if (this.machines.has(alias) || this.hub.branch !== 'main') return;
    if (this.hub.tip() === undefined && !isFirst) return;
    const machine = new Machine(this.bus, alias, alias, this.git);
    await machine.join();
    this.machines.set(alias, machine);
    for (const one of this.machines.values()) await one.pass(() => this.hub.tip());
    if (this.channel === '') this.channel = machine.channel();
    this.hub.floor = this.hub.tip() ?? '';
    this.hub.left.splice(0);
  }

  machine(name: string): Machine | undefined {
    return this.machines.get(name);
  }

  async ask(asker: string, from: string, to: string): Promise<void> {
    const token = `q${String(this.asked.length + 1)}`;
    const sent = await this.machine(from)?.run(
      'send',
      ...['--to', to, '--from', asker, '--', `ask ${token}`],
    );
    const due = [...this.machines.keys()].flatMap((alias) => {
      const [actor = '', only = alias] = to.split('@');
      return only === alias && SERVED[alias]?.[actor] !== undefined ? [`${actor}@${alias}`] : [];
    });
    // A number stands for one question, even if it was refused.
    const isTaken = /^(Sent|Queued): /m.test(sent?.out ?? '');
    this.asked.push({ token, asker, to, due: isTaken ? due : [] });
    if (!isTaken) this.asked.splice(-1, 1, { token, asker, to: '', due: [] });
  }

  /** Records the content of the bus, because messages there may be removed later. */
  observe(): void {
    for (const one of this.hub.messages()) {
      const key = `${one.channel}/${one.relPath}`;
      const body = this.ever.get(key)?.message.body ?? one.message.body;
      if (body !== one.message.body) this.overwritten.add(key);
      else this.ever.set(key, one);
    }
  }

  /** The answers of workers to persons that are on the bus, by path. */
  answers(): Stored[] {
    return this.hub
      .messages()
      .filter(({ message }) => message.from === 'worker' && message.body.startsWith('answer '));
  }

  /**
   * Lines of the ledger: what happened, on which machine, to whom, in which channel, to which
   * message.
   */
  ledger(): { what: string; alias: string; actor: string; channel: string; refs: string[] }[] {
    return readFileSync(this.#ledger, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [what = '', alias = '', actor = '', channel = '', refs = ''] = line.split(' ');
        return { what, alias, actor, channel, refs: refs.split(',') };
      });
  }

  async follow(machine: Machine): Promise<void> {
    if (!this.hub.isPlugged) return;
    git(machine.dir, 'config', 'crosstalk.branch', this.hub.branch);
    await machine.accept();
  }

  /** Gives a machine another address of the same remote, as an operator who intends this does. */
  async readdress(machine: Machine): Promise<void> {
    const url = git(machine.dir, 'remote', 'get-url', 'origin').trim();
    await machine.pointTo(url === this.bus.hub ? `file://${this.bus.hub}` : this.bus.hub);
  }

  async archive(machine: Machine): Promise<void> {
    if (this.hub.tip() === undefined || this.hub.isRemoved) return;
    const header = 'from: ann\nto: nobody\ntype: text\ntimestamp: 2000-01-01T00:00:00Z';
    const suffix = this.ever.size.toString(16).padStart(8, '0');
    const path = `data/channels/${this.channel}/2000/01/01/000000000Z-${suffix}.md`;
    this.hub.put(path, `---\n${header}\n---\n\nold\n`);
    const bundle = join(this.bus.root, `${suffix}.bundle`);
    const which = ['--before', '2001-01-01', '--with-waiting'];
    await machine.run('archive', ...which, '--bundle', bundle, '--yes');
    this.hub.floor = this.hub.tip() ?? this.hub.floor;
    this.hub.left.splice(0);
  }

  /**
   * Removes what would keep messages from moving, and lets the dispatchers finish; returns what
   * kept them busy.
   */
  async settle(): Promise<string[]> {
    this.hub.plug();
    for (const machine of this.machines.values()) {
      machine.surroundings.clock = 0;
      machine.spareGit();
      await this.follow(machine);
    }
    // Only a dispatcher that keeps running notices that another machine writes as this one.
    for (const machine of this.machines.values())
      if (this.copied.has(machine.alias)) machine.launch();
    await this.#passes();
    this.hub.revert();
    await this.#passes();
    this.observe();
    for (const machine of this.machines.values()) await machine.halt();
    let busy: string[] = [];
    for (let round = 0; round < MAX_ROUNDS; round++) {
      busy = [];
      for (const [name, machine] of this.machines) {
        const { code, events } = await machine.pass(() => this.hub.tip());
        this.observe();
        const doing = events.filter((event) => isDoing(event)).map(({ event }) => event);
        if (code !== 0) doing.push(`code ${String(code)}`);
        if ((await this.letters(machine)).some(({ state }) => state === 'retrying'))
          doing.push('retrying');
        busy.push(...doing.map((what) => `${name}: ${what}`));
      }
      if (busy.length === 0) return [];
    }
    return busy;
  }

  async #passes(): Promise<void> {
    for (const machine of this.machines.values())
      await machine.pass(() => this.hub.tip(), PATIENCE_MS);
  }

  async letters(machine: Machine): Promise<Letter[]> {
    return JSON.parse((await machine.run('dlq', '--json')).out) as Letter[];
  }

  /** The problems that a machine reports, except that no dispatcher runs at the end. */
  async trouble(machine: Machine): Promise<string[]> {
    const ran = await machine.run('status', '--json');
    const { health } = JSON.parse(ran.out) as { health: { problems: string[] } };
    return health.problems.filter((problem) => !problem.startsWith('no dispatcher is running'));
  }
}

function isDoing({ event, commits, published_again: again }: Event): boolean {
  if (event === 'push_done') return Number(commits) > 0;
  return event === 'dispatch_start' || (event === 'cursor_lost' && Number(again) > 0);
}
