import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agent } from '../../support/agents.ts';
import { Host, type Actors, type Bus, type Event, type Running } from '../../support/bus.ts';
import type { Ran, RunOptions } from '../../support/command.ts';
import { until } from '../../support/wait.ts';
import { doom } from './doom.ts';
import { within, type Surroundings } from './surroundings.ts';

const CLOCK = fileURLToPath(new URL('../../support/shifted-clock.cjs', import.meta.url));

/** What each machine serves, by role; an actor has the name of its role, except for the helper. */
export const SERVED: Record<string, Record<string, string>> = {
  front: { worker: 'worker', boss: 'boss', flaky: 'flaky', quiet: 'quiet', silent: 'silent' },
  back: { worker: 'worker', helper: 'worker', failing: 'failing' },
  late: { worker: 'worker', flaky: 'flaky' },
};

/** The git commands of which one call can be killed. */
export const KILLED = ['config', 'merge-base', 'rev-list', 'fetch', 'push', 'ls-remote', 'log'];

/** A wrapper of git that kills one call when a file names it. */
const SHIM = `#!/bin/sh
if [ -s "$MODEL_FAULT" ]; then
  word=$(cat "$MODEL_FAULT")
  case " $* " in *" $word "*) rm -f "$MODEL_FAULT"; kill -9 $$ ;; esac
fi
exec "$MODEL_GIT" "$@"
`;

/** A machine of the model: it may be a copy of another one, and its state may be set back. */
export class Machine extends Host {
  override readonly dir: string;
  override readonly state: string;
  override readonly env: NodeJS.ProcessEnv;
  readonly surroundings: Surroundings;
  readonly events: Event[] = [];
  running: Running | undefined;
  readonly #name: string;
  readonly #fault: string;

  constructor(bus: Bus, alias: string, name: string, git: string) {
    super(bus, alias);
    this.#name = name;
    this.dir = join(bus.root, name);
    this.state = join(bus.root, `${name}-state`);
    this.#fault = join(bus.root, `${name}-fault`);
    this.surroundings = { hostname: `${alias}.example`, clock: 0 };
    const bin = join(bus.root, 'shim');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'git'), SHIM, { mode: 0o755 });
    this.env = {
      XDG_STATE_HOME: this.state,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      MODEL_GIT: git,
      MODEL_FAULT: this.#fault,
    };
  }

  override runWith(options: Partial<RunOptions>, ...argv: string[]): Promise<Ran> {
    return within(this.surroundings, () => super.runWith(options, ...argv));
  }

  async join(): Promise<void> {
    const { bus, alias, dir } = this;
    const made = await this.run(
      'init',
      dir,
      ...['--remote', bus.hub, '--alias', alias, '--cli', 'true'],
    );
    if (made.code !== 0) throw new Error(made.err);
    const ledger = join(bus.root, 'ledger');
    const actors: Actors = {};
    for (const [actor, role] of Object.entries(SERVED[alias] ?? {})) {
      const cli = `MODEL_LEDGER=${ledger} ${agent('modelled', role, alias)}`;
      actors[actor] = {
        default: { cli, retry_delay: role === 'flaky' ? '400ms' : '10ms', attempts: 2 },
      };
    }
    this.declare(actors);
    await this.approve();
  }

  /** A copy of the machine, with its clone and its state. */
  async copy(git: string): Promise<Machine> {
    const copy = new Machine(this.bus, this.alias, `${this.#name}-copy`, git);
    cpSync(this.dir, copy.dir, { recursive: true });
    copyState(this.state, copy.state);
    await copy.approve();
    return copy;
  }

  /** One pass of a dispatcher, or as much time as the running one needs to process everything. */
  async pass(
    tip: () => string | undefined,
    patience = 4000,
  ): Promise<{ code: number; events: Event[] }> {
    const { running } = this;
    const from = running?.events.length ?? 0;
    if (running !== undefined) {
      await until(
        'the dispatcher to be through',
        () => isThrough(running, from, tip()),
        patience,
      ).catch(() => undefined);
      return { code: 0, events: running.events.slice(from) };
    }
    const ran = await this.run('dispatch', '--once', '--host', this.alias);
    const events = ran.err
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Event);
    this.events.push(...events);
    return { code: ran.code, events };
  }

  launch(): void {
    this.running ??= this.start();
  }

  async halt(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    await running?.stop();
    this.events.push(...(running?.events ?? []));
  }

  /** A dispatcher in its own process, which kills itself at the n-th point that it passes. */
  async doom(count: number): Promise<boolean> {
    const offset = join(this.bus.root, `${this.#name}-clock`);
    writeFileSync(offset, String(this.surroundings.clock / 1000));
    return doom(['--require', CLOCK], {
      ...this.env,
      CROSSTALK_TRANSPORT: this.dir,
      CLOCK_OFFSET_FILE: offset,
      CHAOS_POINT: 'any',
      CHAOS_COUNT: String(count),
      CHAOS_HOST: this.alias,
      CHAOS_HOSTNAME: this.surroundings.hostname,
    });
  }

  /** The next git command of this machine that contains the word is killed. */
  killGit(word: string): void {
    writeFileSync(this.#fault, word);
  }

  spareGit(): void {
    rmSync(this.#fault, { force: true });
  }

  save(): void {
    rmSync(`${this.state}-saved`, { recursive: true, force: true });
    copyState(this.state, `${this.state}-saved`);
  }

  restore(): void {
    rmSync(this.state, { recursive: true, force: true });
    copyState(`${this.state}-saved`, this.state);
  }

  /** Paths and contents of the files that wait in the outbox. */
  queued(): { path: string; content: string }[] {
    const folders = readdirSync(this.state, { recursive: true, encoding: 'utf8' });
    // A copy is at another path, where it has its own state beside that of the original.
    const id = readFileSync(join(this.dir, '.git', 'crosstalk', 'id'), 'utf8').trim();
    return folders
      .filter((path) => path.endsWith('.json') && dirname(path).endsWith(`/${id}/outbox`))
      .flatMap((path) => {
        const entry = JSON.parse(readFileSync(join(this.state, path), 'utf8')) as {
          commits: { files: { path: string; content: string }[] }[];
        };
        return entry.commits.flatMap(({ files }) => files);
      });
  }
}

/** Copies a state directory without the sockets that a killed dispatcher has left there. */
function copyState(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
}

/** Whether a dispatcher has seen the tip, has nothing to do, and has reported that since. */
function isThrough(running: Running, from: number, tip: string | undefined): boolean {
  const since = running.events.slice(from);
  const last = since.findLast(({ event }) => event === 'tick' || event === 'fetch_failed');
  if (last?.event === 'fetch_failed') return true;
  if (last === undefined || last['tip'] !== tip) return false;
  const ticks = since.filter(({ event }) => event === 'tick');
  const quiet = ticks
    .slice(-2)
    .every((tick) => tick['added'] === 0 && tick['pending'] === 0 && tick['running'] === 0);
  return ticks.length > 1 && quiet;
}
