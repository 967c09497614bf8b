import { cpSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { claimPlace, currentOf } from '../../src/protocol/claim.ts';
import { agent } from '../support/agents.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import type { Random } from './random.ts';
import { waitingIn } from './doomed-process.ts';
import { Machine } from './world.ts';

/** The lease of all claims, in milliseconds; much more than a run and its push take on a busy machine. */
const LEASE_MS = Number(process.env['CHAOS_LEASE_MS'] ?? '30000');
const POOL = '---\nname: pool\ndescription: works\nserve: one\n---\n\nWork.\n';
const QUIET_TICKS = 5;
const PATIENCE_MS = 180_000;

/** A task that somebody sent to the pool. */
interface Task {
  relPath: string;
  body: string;
  machine: Machine;
  from: string;
}

/** A fault, which explains why a run of its hosts was not the last one of a task. */
interface Named {
  name: string;
  /** Hosts that it concerns, or the task. */
  of: readonly string[];
  from: number;
  to: number;
}

/** A run of the pool's CLI, by its log. */
interface Run {
  host: string;
  at: number;
  body: string;
}

export type PoolFault = (world: PoolWorld) => Promise<void>;

/** Several machines that serve a pool, and a peer on the first, to whom the pool delegates. */
export class PoolWorld {
  readonly bus = new Bus();
  readonly machines: Machine[] = [];
  readonly tasks: Task[] = [];
  readonly faults: Named[] = [];
  readonly random: Random;
  readonly #log = join(this.bus.root, 'runs');
  #serial = 0;

  constructor(random: Random) {
    this.random = random;
  }

  async open(hosts: number): Promise<void> {
    for (const path of [this.#log, join(this.bus.root, 'ledger')]) writeFileSync(path, '');
    for (let index = 0; index < hosts; index++) {
      const alias = `host${String(index)}`;
      const cli = agent('pooled.sh', this.#log, alias);
      const tier = { cli, count: 2, attempts: 3, retry_delay: '1s' };
      const peer = { default: { cli: agent('crew.js', 'worker'), count: 2 } };
      const host = await this.bus.host(alias, {
        pool: { default: tier },
        ...(index === 0 && { peer }),
      });
      host.env['CROSSTALK_TEST_LEASE'] = '1';
      git(host.dir, 'config', 'crosstalk.claimLease', `${String(LEASE_MS / 1000)}s`);
      // Their clocks are hours apart.
      const clock = join(this.bus.root, `${alias}-clock`);
      writeFileSync(clock, String(index * 8 * 3600));
      const ledger = join(this.bus.root, 'ledger');
      this.machines.push(new Machine(host, ['pool'], ledger, clock));
    }
    this.machines[0]?.host.edit({ 'local/actors/pool.md': POOL });
    for (const { host } of this.machines) await host.once();
    for (const machine of this.machines) machine.start();
  }

  /** Sends a task from one of the machines. */
  async send(): Promise<Task | undefined> {
    const { random } = this;
    const id = `t${String(this.#serial++)}`;
    const kind = random.next();
    const body =
      kind < 0.7
        ? `plain ${id}`
        : kind < 0.8
          ? `shaky ${id}`
          : kind < 0.85
            ? `fail ${id}`
            : `goal ${id} peer`;
    const machine = random.pick(this.machines);
    const from = random.pick(['alice', 'bob']);
    const sent = await machine.host.run('send', '--to', 'pool', '--from', from, '--', body);
    const relPath = /^(?:Sent|Queued): (.+)$/m.exec(sent.out)?.[1];
    if (relPath === undefined) return undefined;
    const task = { relPath, body, machine, from };
    this.tasks.push(task);
    return task;
  }

  /** Does something that disturbs hosts, or a task. */
  async during(name: string, of: readonly string[], work: () => Promise<void>): Promise<void> {
    const from = Date.now();
    await work();
    this.faults.push({ name, of, from, to: Date.now() });
  }

  /** Waits until nothing is left to do; returns what keeps it, in vain. */
  async settle(): Promise<string | undefined> {
    const deadline = Date.now() + PATIENCE_MS;
    while (Date.now() < deadline) {
      for (const machine of this.machines) machine.start();
      const tip = git(this.bus.hub, 'rev-parse', 'main').trim();
      const isQuiet = ({ quiet }: Machine): boolean =>
        quiet.tip === tip && quiet.ticks >= QUIET_TICKS;
      if (this.machines.every(isQuiet) && this.openTasks().length === 0) return undefined;
      await sleep(100);
    }
    return this.machines
      .map(({ host, last }) => `${host.alias} ${JSON.stringify(last)} ${waitingIn(host.state)}`)
      .join('\n');
  }

  /** Tasks without a word of the pool. */
  openTasks(): Task[] {
    const told = new Set(this.bus.from('pool').flatMap(({ message }) => message.re));
    return this.tasks.filter(({ relPath }) => !told.has(relPath));
  }

  get runs(): Run[] {
    const lines = readFileSync(this.#log, 'utf8').split('\n');
    return lines.flatMap((line) => {
      const [, host = '', at = '', body = ''] = /^(\S+) (\d+) \S* ?(.*)$/.exec(line) ?? [];
      return host === '' ? [] : [{ host, at: Number(at), body }];
    });
  }

  /** Returns what breaks a promise. */
  judge(): string[] {
    const { bus, tasks } = this;
    const messages = bus.messages();
    const said = bus.from('pool').filter(({ message }) => message.interim !== true);
    const problems: string[] = [];
    for (const { relPath, body } of tasks) {
      const about = said.filter(({ message }) => message.re.includes(relPath));
      const isThere = messages.some((one) => one.relPath === relPath);
      const text = about.map(({ relPath: path, message }) =>
        [path, message.host, message.body.trim().slice(0, 60)].join(' '),
      );
      if (!isThere || about.length !== 1)
        problems.push(`${relPath} (${body}) has ${String(about.length)}: ${text.join('; ')}`);
    }
    return [...problems, ...this.#unended(), ...this.#unexplained()];
  }

  #unended(): string[] {
    const listed = git(this.bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/claims/');
    const places = listed.split('\n').flatMap((path) => claimPlace(path) ?? []);
    return [...new Set(places.map(({ relPath }) => relPath))].flatMap((relPath) => {
      const of = (kind: string): Set<number> =>
        new Set(
          places.filter((one) => one.relPath === relPath && one.kind === kind).map((one) => one.n),
        );
      const n = currentOf(of('claim'));
      // A branch that was set back may have lost the claim of an end.
      const isEnded = of('end').has(n) || (n === 0 && of('end').size > 0);
      return isEnded ? [] : [`claim ${String(n)} of ${relPath} has no end`];
    });
  }

  #unexplained(): string[] {
    const { runs } = this;
    return [...new Set(runs.map(({ body }) => body))].flatMap((body) => {
      const sorted = runs.filter((run) => run.body === body).sort((a, b) => a.at - b.at);
      return sorted.slice(0, -1).flatMap((run) => {
        if (/^(fail|shaky) /.test(body)) return [];
        const isWhy = ({ of, from, to }: Named): boolean =>
          (of.includes(run.host) || of.includes(body)) &&
          run.at > from - LEASE_MS &&
          run.at < to + LEASE_MS;
        if (this.faults.some(isWhy)) return [];
        const all = sorted.map(({ host, at }) => `${host} ${new Date(at).toISOString()}`);
        return [`second run of ${body} without a fault of ${run.host}: ${all.join(', ')}`];
      });
    });
  }

  /** Copies all of it for a person to look at. */
  keep(folder: string): void {
    const filter = (path: string): boolean => !lstatSync(path).isSocket();
    cpSync(this.bus.root, folder, { recursive: true, filter });
  }
}

/** The faults of hosts that share a pool, by name. */
export const POOL_FAULTS: Record<string, PoolFault> = {
  kill: async (world) => {
    const machine = world.random.pick(world.machines);
    const wait = world.random.between(0, 1500);
    await world.during('kill', [machine.host.alias], async () => {
      await machine.stop('SIGKILL');
      await sleep(wait);
      machine.start();
    });
  },
  away: async (world) => {
    const machine = world.random.pick(world.machines);
    await world.during('away', [machine.host.alias], async () => {
      await machine.stop('SIGKILL');
      await sleep(LEASE_MS * 1.5);
      machine.start();
    });
  },
  sleep: async (world) => {
    const machine = world.random.pick(world.machines);
    const { pid } = machine;
    if (pid === undefined) return;
    await world.during('sleep', [machine.host.alias], async () => {
      process.kill(pid, 'SIGSTOP');
      await sleep(LEASE_MS * 1.5);
      process.kill(pid, 'SIGCONT');
    });
  },
  cut: async (world) => {
    const long = world.random.between(500, LEASE_MS * 1.5);
    const all = world.machines.map(({ host }) => host.alias);
    await world.during('cut', all, async () => {
      world.bus.unplug();
      await world.send();
      await sleep(long);
      world.bus.plug();
    });
  },
  unanswered: async (world) => {
    // The remote takes pushes, and dies before it says so: no reason for a second run.
    const hook = join(world.bus.hub, 'hooks', 'post-receive');
    await world.during('unanswered', [], async () => {
      writeFileSync(hook, '#!/bin/sh\nkill -9 $PPID\n', { mode: 0o755 });
      await sleep(world.random.between(300, 3000));
      rmSync(hook);
    });
  },
  rewind: async (world) => {
    const all = world.machines.map(({ host }) => host.alias);
    await world.during('rewind', all, async () => {
      const tip = git(world.bus.hub, 'rev-parse', 'main').trim();
      await world.send();
      await sleep(world.random.between(300, 2000));
      git(world.bus.hub, 'update-ref', 'refs/heads/main', tip);
    });
  },
  forged: async (world) => {
    const task = await world.send();
    if (task === undefined) return;
    const at = new Date().toISOString();
    const { host } = task.machine;
    const place = (n: number): string =>
      `data/claims/${host.channel()}/${task.relPath}/pool/${String(n)}.md`;
    const has = git(world.bus.hub, 'ls-tree', '--name-only', 'main', place(1)).trim() !== '';
    const text = `---\nhost: ghost\nrun: ghost.${task.relPath.slice(-6, -3)}\nlease: "${String(LEASE_MS / 1000)}"\nat: ${at}\n---\n`;
    await world.during('forged', [task.body], async () => {
      host.edit({ [place(has ? 2 : 1)]: text });
      await sleep(LEASE_MS);
    });
  },
  cancel: async (world) => {
    const task = await world.send();
    if (task === undefined) return;
    await sleep(world.random.pick([0, 300, 900]));
    await world.during('cancel', [task.body], async () => {
      await task.machine.host.run('cancel', '--from', task.from, task.relPath);
    });
  },
};
