import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agent } from '../support/agents.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';
import { GitShim, type Kind, type Which } from './git-shim.ts';

/** The exit codes that a command may have: done, failed, or timed out. */
const ENDINGS = [0, 1, 3];
/** The limit for a git that hangs. */
const SHORT = { CROSSTALK_GIT_TIMEOUT: '2', CROSSTALK_NETWORK_TIMEOUT: '2' };
/** Passes of a dispatcher after which nothing may be left to do. */
const MAX_PASSES = 12;

/**
 * A bus with one machine, whose command runs with a git that fails. Everything is restored before
 * each command, at the same path, so that a call has the same number in all of them.
 */
export class FaultyMachine {
  readonly bus = new Bus();
  readonly ledger = join(this.bus.root, 'ledger');
  readonly #kept = join(scratch(), 'kept');
  readonly #shim = new GitShim(scratch());
  host!: Host;

  async open(): Promise<this> {
    writeFileSync(this.ledger, '');
    this.host = await this.bus.host('front', { worker: this.logged('answer') });
    return this;
  }

  /** The command line of a scripted CLI that notes each of its runs. */
  logged(name: string): string {
    return `CHAOS_LEDGER=${this.ledger} ${agent('ledgered', name)}`;
  }

  /**
   * Asks four actors: the worker answers, the boss answers after its worker, one question becomes a dead
   * letter, one is met with silence.
   */
  async askFour(): Promise<void> {
    // A step that fails once is tried again within the next pass.
    const soon = { retry_delay: '10ms' };
    this.host.declare({
      worker: { default: { cli: this.logged('answer'), ...soon } },
      failing: { default: { cli: this.logged('fail'), ...soon, attempts: 2 } },
      quiet: { default: { cli: this.logged('quiet'), ...soon } },
      boss: { default: { cli: this.logged('delegate'), ...soon } },
    });
    await this.host.approve();
    for (const actor of ['worker', 'failing', 'quiet', 'boss'])
      await this.host.send(actor, `to ${actor}`);
  }

  /**
   * What the four have not come to, or have come to more than once.
   *
   * @param words how often the silent one may have said what it says on its way, once for each run
   */
  leftOfFour(words = 1): string[] {
    const answers = this.bus
      .messages()
      .filter(
        ({ message: { from, to, failed } }) =>
          failed === undefined && from !== 'operator' && to[0]?.name === 'operator',
      );
    const letters = rowsIn(this.host.state, 'dead-letter');
    const now = {
      answered: answers.filter(({ message }) => message.interim !== true).length,
      words: answers.filter(({ message }) => message.interim === true).length,
      letters: letters.filter(({ state }) => state === 'quarantined').length,
      outbox: rowsIn(this.host.state, 'outbox').length,
    };
    const isDone = now.answered === 2 && now.letters === 1 && now.outbox === 0;
    const isSaid = now.words >= 1 && now.words <= words;
    return isDone && isSaid ? [] : [`at last: ${JSON.stringify(now)}`];
  }

  /** Runs that started for a message although its answer was on disk. */
  repeated(): string[] {
    const recorded = new Set<string>();
    return readFileSync(this.ledger, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [kind, paths = ''] = line.split(' ');
        if (kind === 'recorded') for (const path of paths.split(',')) recorded.add(path);
        return kind === 'start' && paths.split(',').some((path) => recorded.has(path))
          ? [`run again after its output was recorded: ${paths}`]
          : [];
      });
  }

  /** Saves the current state of everything. */
  async keep(): Promise<void> {
    const lock = join(this.host.state, 'writer.lock');
    await until('the end of the push', () => !existsSync(lock));
    execFileSync('cp', ['-a', this.bus.root, this.#kept]);
  }

  /** Restores everything to the saved state. */
  restore(): void {
    execFileSync('find', [this.bus.root, '-mindepth', '1', '-delete']);
    execFileSync('cp', ['-a', `${this.#kept}/.`, this.bus.root]);
  }

  /** Runs something while git fails as requested; meanwhile all of this process uses that git. */
  async under<T>(
    fault: { which: Which; kind: Kind } | undefined,
    work: () => Promise<T>,
    limit = false,
  ): Promise<T> {
    // Only if a git hangs: on a busy machine a healthy one may take as long.
    const isShort = limit || fault?.kind === 'hung';
    const env = { ...this.#shim.env, ...(isShort && SHORT) };
    const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
    this.#shim.clear(fault);
    Object.assign(process.env, env);
    try {
      return await work();
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = value;
      }
    }
  }

  get calls(): string[] {
    return this.#shim.calls;
  }

  /** From now on a git that was started through the shim fails in this way; see {@link under}. */
  harm(fault: { which: Which; kind: Kind }): void {
    this.#shim.harm(fault);
  }
  heal(): void {
    this.#shim.heal();
  }

  /** Lets dispatchers do the rest, with a healthy git; returns their problems. */
  async settle(): Promise<string[]> {
    const synced = await this.host.run('sync');
    if (synced.code !== 0) return [`a clean sync failed afterwards: ${synced.err}`];
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      const ran = await this.host.run('dispatch', '--once', '--host', this.host.alias);
      if (ran.code !== 0) return [`a clean pass failed afterwards: ${ran.err}`];
      if (
        !/"event":"(dispatch_start|reply_queued)"|"event":"push_done","commits":[1-9]/.test(ran.err)
      )
        return [];
    }
    return ['the bus does not come to rest'];
  }

  /** What may never be the case after a command, however it ended. */
  lies(ran: Ran): string[] {
    const problems: string[] = [];
    const said = ran.err.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    if (!ENDINGS.includes(ran.code)) problems.push(`it ended with ${String(ran.code)}`);
    if (/^\s+at .+:\d+/m.test(`${ran.err}${ran.out}`)) problems.push(`a stack trace: ${ran.err}`);
    if (ran.code === 1 && said.filter((line) => line.startsWith('crosstalk')).length !== 1)
      if (ran.out === '') problems.push(`it failed without one clear line: ${ran.err}`);
    return [...problems, ...this.#solo(), ...this.#broken()];
  }

  /** How often a text was sent to the remote by somebody. */
  count(from: string, body: string): number {
    return this.bus.from(from).filter(({ message }) => message.body.trim() === body).length;
  }

  /** The number of runs. */
  get runs(): number {
    return readFileSync(this.ledger, 'utf8').split('\n').length - 1;
  }

  /** The tips of the clone's own branches that the remote never had. */
  #solo(): string[] {
    const local = git(this.host.dir, 'for-each-ref', '--format=%(objectname)', 'refs/heads');
    return local
      .split('\n')
      .filter((oid) => oid !== '' && !this.#wasOnHub(oid))
      .map((oid) => `a commit that never reached the remote: ${oid}`);
  }

  #wasOnHub(oid: string): boolean {
    try {
      git(this.bus.hub, 'cat-file', '-e', oid);
      return true;
    } catch {
      return false;
    }
  }

  /** Files of the state directory that are incomplete. */
  #broken(): string[] {
    if (!existsSync(this.host.state)) return [];
    const files = readdirSync(this.host.state, { recursive: true, withFileTypes: true });
    return files.flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      if (/\.(broken|tmp)$/.test(entry.name)) return [`left behind: ${path}`];
      if (!entry.isFile() || !entry.name.endsWith('.json')) return [];
      try {
        JSON.parse(readFileSync(path, 'utf8'));
        return [];
      } catch {
        return [`half written: ${path}`];
      }
    });
  }
}
