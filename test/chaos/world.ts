import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../src/crash-points.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Actors, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { isAtRest, startDoomed, type Doomed } from './doomed-process.ts';
import type { Random } from './random.ts';

const ALIASES = ['north', 'south', 'east', 'west', 'centre'];
const PEOPLE = ['alice', 'bob', 'carol'];
const COORDINATORS = ['boss', 'chief'];
/** An actor on every host; each of them answers messages for the name alone. */
const TWIN = 'clerk';
const QUIET_TICKS = 3;
const PATIENCE_MS = 240_000;

/** A question, if `send` reported that it was sent or queued. */
export interface Asked {
  relPath: string;
  id: string;
  body: string;
  /** Whose state it was sent with. */
  host: string;
}

/** The time as the names of messages have it, without what stands between its parts. */
export function digitsOf(time = new Date().toISOString()): string {
  return time.replaceAll(/\D/g, '');
}

/** A machine of the world, with the dispatcher that runs there. */
export class Machine {
  readonly host: Host;
  readonly actors: readonly string[];
  readonly ledger: string;
  /** A file with the seconds by which its clock is off. */
  readonly #clock: string | undefined;
  readonly #logFile: string;
  #doomed: Doomed | undefined;
  #hasEnded = true;
  /** The number of ticks in a row with nothing to do, and the commit they saw. */
  quiet = { ticks: 0, tip: '' };
  readonly counts = new Map<string, number>();
  /** The number of messages reported to be gone with a history. */
  gone = 0;
  /**
   * Whether it has reported that the history was rewritten: since then a twin's answer counts as
   * its own.
   */
  hasLost = false;
  /** Dispatchers that ended although nobody killed them. */
  readonly ends: string[] = [];
  last: Event | undefined;
  /** When its state was copied, and the copies from which it was restored. */
  copied = '';
  readonly restores: { copied: string; at: string }[] = [];

  constructor(host: Host, actors: readonly string[], ledger: string, clock?: string) {
    this.host = host;
    this.actors = actors;
    this.ledger = ledger;
    this.#clock = clock;
    this.#logFile = join(host.bus.root, `${host.alias}.log`);
  }

  get pid(): number | undefined {
    return this.#hasEnded ? undefined : this.#doomed?.child.pid;
  }
  get isAtRest(): boolean {
    return isAtRest(this.host.state);
  }

  /** Starts a dispatcher, unless one runs. */
  start(point: CrashPoint | 'any' | 'none' = 'none', count = 0): void {
    if (!this.#hasEnded) return;
    this.#hasEnded = false;
    this.quiet = { ticks: 0, tip: '' };
    const { ledger } = this;
    const doomed = startDoomed(this.host, {
      point,
      count,
      ledger,
      interval: 300,
      clock: this.#clock,
      onEvent: (event, line) => {
        this.#hear(event, line);
      },
    });
    this.#doomed = doomed;
    void doomed.ended.then((end) => {
      this.#hasEnded = true;
      appendFileSync(this.#logFile, `-- ended: ${String(end)}\n`);
      if (end !== 'SIGKILL' && end !== 'SIGTERM')
        this.ends.push(`${this.host.alias}: ${String(end)}`);
    });
  }

  /** Ends the dispatcher; true when one was running. */
  async stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<boolean> {
    if (this.#hasEnded || this.#doomed === undefined) return false;
    this.#doomed.child.kill(signal);
    await this.#doomed.ended;
    return true;
  }

  /**
   * Waits until the dispatcher has killed itself, or for this many milliseconds; true when it died.
   */
  async died(limit: number): Promise<boolean> {
    const doomed = this.#doomed;
    if (doomed === undefined) return false;
    return Promise.race([
      doomed.ended.then((end) => end === 'SIGKILL'),
      sleep(limit, false, { ref: false }),
    ]);
  }

  #hear(event: Event, line: string): void {
    this.counts.set(event.event, (this.counts.get(event.event) ?? 0) + 1);
    if (event.event === 'cursor_lost') this.hasLost = true;
    if (event.event === 'cursor_lost') this.gone += Number(event['gone'] ?? 0);
    if (event.event !== 'tick') {
      appendFileSync(this.#logFile, `${new Date().toISOString()} ${line}\n`);
      return;
    }
    this.last = event;
    const tip = String(event['tip']);
    const nothing = ['added', 'pending', 'running'].every((fact) => event[fact] === 0);
    const isSame = nothing && this.isAtRest && tip === this.quiet.tip;
    this.quiet = { ticks: isSame ? this.quiet.ticks + 1 : 0, tip: nothing ? tip : '' };
  }
}

/** Several machines on one bus, and people on them who ask coordinators, workers and twins. */
export class World {
  readonly bus = new Bus();
  readonly random: Random;
  readonly machines: Machine[] = [];
  readonly asked: Asked[] = [];
  readonly faults: string[] = [];
  /**
   * Answers that were removed, with what they answered; a branch that is set back may contain one
   * again, beside the next.
   */
  readonly dropped = new Map<string, readonly string[]>();
  /** When the branch was set back, the last time. */
  setBackAt = '';
  /** The commit after which everything relevant was added. */
  base = '';
  /** The channel of all messages. */
  channel = '';

  constructor(random: Random) {
    this.random = random;
  }

  async open(hosts: number): Promise<void> {
    const ledger = join(this.bus.root, 'ledger');
    writeFileSync(ledger, '');
    for (const [index, alias] of ALIASES.slice(0, hosts).entries()) {
      const actors = actorsOf(index, ledger);
      const host = await this.bus.host(alias, actors);
      this.machines.push(new Machine(host, Object.keys(actors), ledger));
    }
    this.base = git(this.bus.hub, 'rev-parse', 'main').trim();
    this.channel = this.machines[0]?.host.channel() ?? '';
    // A branch that is lost from now on is created again with the host file of each machine.
    for (const { host } of this.machines) await host.run('sync');
    for (const machine of this.machines) machine.start();
  }

  /** A person asks somebody a question. */
  async ask(): Promise<void> {
    const { random, machines } = this;
    const id = `q${String(this.asked.length)}`;
    const { to, body } = this.#question(id);
    const { host } = random.pick(machines);
    const from = random.pick(PEOPLE);
    const sent = await host.run('send', '--to', to, '--from', from, '--', body);
    const relPath = /^(?:Sent|Queued): (.+)$/m.exec(sent.out)?.[1];
    if (relPath !== undefined) this.asked.push({ relPath, id, body, host: host.alias });
  }

  #question(id: string): { to: string; body: string } {
    const { random, machines } = this;
    const workers = machines.map((_, index) => `w${String(index)}`);
    const kind = random.next();
    if (kind < 0.5) {
      const peers = random.shuffle(workers).slice(0, random.between(2, 3));
      return { to: random.pick(COORDINATORS), body: `goal ${id} ${peers.join(' ')}` };
    }
    if (kind < 0.75) return { to: random.pick(workers), body: `plain ${id}` };
    if (kind < 0.85) return { to: TWIN, body: `plain ${id}` };
    if (kind < 0.92)
      return { to: `${TWIN}@${random.pick(machines).host.alias}`, body: `plain ${id}` };
    return { to: 'shaky', body: `plain ${id}` };
  }

  startAll(): void {
    for (const machine of this.machines) machine.start();
  }

  count(event: string): number {
    return this.machines.reduce((sum, { counts }) => sum + (counts.get(event) ?? 0), 0);
  }

  get tip(): string {
    return git(this.bus.hub, 'rev-parse', 'main').trim();
  }

  /** Waits until nothing is left to do; undefined after that, otherwise what each machine reports. */
  async settle(): Promise<string | undefined> {
    if (existsSync(`${this.bus.hub}.unplugged`)) this.bus.plug();
    const deadline = Date.now() + PATIENCE_MS;
    while (Date.now() < deadline) {
      this.startAll();
      const { tip } = this;
      const isQuiet = ({ quiet }: Machine): boolean =>
        quiet.tip === tip && quiet.ticks >= QUIET_TICKS;
      if (this.machines.every(isQuiet)) return undefined;
      await sleep(50);
    }
    return this.machines
      .map(
        ({ host, last, isAtRest: rests }) =>
          `${host.alias} ${String(rests)} ${JSON.stringify(last)}`,
      )
      .join('\n');
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.machines.map((machine) => machine.stop('SIGTERM')));
  }
}

function actorsOf(index: number, ledger: string): Actors {
  const crew = (role: string): Record<string, Record<string, string | number>> => ({
    default: {
      cli: `CHAOS_LEDGER=${ledger} ${agent('crew.js', role)}`,
      retry_delay: '50ms',
      attempts: 8,
      count: 2,
    },
  });
  const coordinator = COORDINATORS[index];
  return {
    [`w${String(index)}`]: crew('worker'),
    [TWIN]: crew('worker'),
    ...(coordinator !== undefined && { [coordinator]: crew('coordinator') }),
    ...(index === 2 && { shaky: crew('shaky') }),
  };
}
