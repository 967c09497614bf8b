import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { parseMessage, type Message } from '../../src/protocol/message.ts';
import { openTransport } from '../../src/actions/context.ts';
import { placeOf } from '../../src/protocol/layout.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { command, type Ran, type RunOptions } from './command.ts';
import { commitTo, copyMachine } from './copies.ts';
import { git, readBlobs } from './git.ts';
import { until } from './wait.ts';

type Option = string | number | string[] | Record<string, string | string[]>;
type Tiers = Record<string, string | Record<string, Option>>;
export type Actors = Record<string, string | Tiers>;

export interface Event {
  event: string;
  [field: string]: unknown;
}

/** A change that waits for approval. */
export interface Held {
  digest: string;
  kind: string;
  name: string;
  approved?: string;
  proposed?: string;
  changes: { option: string; approved?: unknown; proposed?: unknown }[];
  refused?: string;
}

/** A message on the remote and where it lives. */
export interface Stored {
  channel: string;
  relPath: string;
  message: Message;
}

const cleanups: (() => Promise<unknown>)[] = [];

/** Ends what the tests have started, the newest first. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

/** An empty folder that is removed together with the test file's own HOME. */
export function scratch(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'bus-')));
}

/** A bare remote and the machines that share it. */
export class Bus {
  readonly root: string;
  readonly hub: string;
  /** The aliases of the machines, in the order in which they joined. */
  readonly #joined: string[] = [];
  readonly #config: string | undefined;

  constructor(branch = 'main', root = scratch()) {
    this.root = root;
    this.hub = join(root, 'hub.git');
    mkdirSync(this.hub);
    git(this.hub, 'init', '--quiet', '--bare', `--initial-branch=${branch}`);
    if (branch === 'main') this.#config = readFileSync(join(this.hub, 'config'), 'utf8');
  }

  /** Lets machines work in turn until none of them has anything to do. */
  async rest(hosts: readonly Host[]): Promise<void> {
    for (let round = 0; round < 40; round++) {
      const before = this.messages().length;
      for (const host of hosts) await host.once();
      if (this.messages().length === before) return;
    }
    throw new Error(`no rest: ${String(this.messages().length)} messages`);
  }

  /** Joins a machine; its host file declares exactly these actors. */
  async host(alias: string, actors: Actors): Promise<Host> {
    const host = new Host(this, alias);
    if (this.#isPlain()) {
      await copyMachine(this.root, this.#joined, alias, makeMachines);
    } else {
      await init(host);
    }
    this.#joined.push(alias);
    host.declare(actors);
    await host.approve();
    return host;
  }

  /** Whether all that was done to the bus is that machines joined, which others can be copied from. */
  #isPlain(): boolean {
    const hub = join(this.root, 'hub.git');
    if (this.hub !== hub || readFileSync(join(hub, 'config'), 'utf8') !== this.#config)
      return false;
    const isEmpty = !existsSync(join(hub, 'refs/heads/main'));
    const settings = process.env['GIT_CONFIG_GLOBAL'] ?? '';
    return (
      isEmpty === (this.#joined.length === 0) &&
      new Set(this.#joined).size === this.#joined.length &&
      existsSync(settings) &&
      statSync(settings).size === 0
    );
  }

  /** Makes the remote unreachable until {@link plug}. */
  unplug(): void {
    renameSync(this.hub, `${this.hub}.unplugged`);
  }

  plug(): void {
    // A git process that was running there may have created folders of that name meanwhile.
    rmSync(this.hub, { recursive: true, force: true });
    renameSync(`${this.hub}.unplugged`, this.hub);
  }

  /** Every message on the remote, by path. */
  messages(branch = 'main'): Stored[] {
    const listed = git(this.hub, 'ls-tree', '-r', '-z', branch, 'data/channels/');
    const places = listed.split('\0').flatMap((line) => {
      const [, oid = '', path = ''] = /^\d+ \w+ (\w+)\t(.*)$/s.exec(line) ?? [];
      const place = placeOf(path);
      return place.kind === 'message' ? [{ ...place, oid }] : [];
    });
    const contents = readBlobs(
      this.hub,
      places.map(({ oid }) => oid),
    );
    return places.flatMap(({ channel, relPath }, index) => {
      const parsed = parseMessage(contents[index] ?? Buffer.alloc(0));
      return parsed.ok ? [{ channel, relPath, message: parsed.value }] : [];
    });
  }

  /** Messages from one sender, by path. */
  from(name: string): Stored[] {
    return this.messages().filter(({ message }) => message.from === name);
  }
}

/** Makes the machines that others are copied from; see {@link copyMachine}. */
async function makeMachines(root: string, aliases: readonly string[]): Promise<void> {
  const bus = new Bus('main', root);
  for (const alias of aliases) await init(new Host(bus, alias));
}

async function init(host: Host): Promise<void> {
  const where = [host.dir, '--remote', host.bus.hub, '--alias', host.alias];
  const made = await host.run('init', ...where, '--cli', 'true');
  if (made.code !== 0) throw new Error(made.err);
}

/** A machine: a clone, a state directory, commands run in this process. */
export class Host {
  readonly bus: Bus;
  readonly alias: string;
  readonly dir: string;
  readonly state: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(bus: Bus, alias: string) {
    this.bus = bus;
    this.alias = alias;
    this.dir = join(bus.root, alias);
    this.state = join(bus.root, `${alias}-state`);
    this.env = { CROSSTALK_STATE_DIR: this.state };
  }

  run(...argv: string[]): Promise<Ran> {
    return this.runWith({}, ...argv);
  }

  runWith(options: Partial<RunOptions>, ...argv: string[]): Promise<Ran> {
    const standalone = argv[0] === 'init';
    return command(argv, {
      cwd: this.bus.root,
      ...options,
      env: {
        ...this.env,
        ...(standalone ? {} : { CROSSTALK_TRANSPORT: this.dir }),
        ...options.env,
      },
    });
  }

  /** Sends a message and returns the printed relPaths. */
  async send(to: string, body: string, ...options: string[]): Promise<string> {
    const sent = await this.run('send', '--to', to, ...options, '--', body);
    const relPath = /^Sent: (.+)$/m.exec(sent.out)?.[1];
    if (relPath === undefined) throw new Error(`send failed: ${sent.out}${sent.err}`);
    return relPath;
  }

  /** One pass of the dispatcher; returns its log. */
  async once(...options: string[]): Promise<Event[]> {
    const ran = await this.run('dispatch', '--once', '--host', this.alias, ...options);
    if (ran.code !== 0) throw new Error(`dispatch --once: ${ran.err}`);
    return events(ran.err);
  }

  /** A dispatcher that runs until the test ends. */
  start(...options: string[]): Running {
    const running = new Running(this, options);
    cleanups.push(() => running.stop());
    return running;
  }

  /** Replaces a host file by hand, as an operator would in another clone; without `alias` its own. */
  declare(actors: Actors, alias = this.alias): void {
    const tiers = Object.entries(actors).map(([name, cli]) => [
      name,
      typeof cli === 'string' ? { default: cli } : cli,
    ]);
    const fields = { alias, actors: Object.fromEntries(tiers) as unknown };
    this.edit({ [`hosts/${alias}.md`]: `---\n${stringify(fields, { lineWidth: 0 })}---\n` });
  }

  /** Turns the machine into one on which nothing was ever approved. */
  neverStarted(): void {
    rmSync(join(this.state, 'approvals.json'), { force: true });
  }

  /** Gives the machine another remote, as an operator who intends this would do. */
  async pointTo(remote: string): Promise<void> {
    git(this.dir, 'remote', 'set-url', 'origin', remote);
    await this.accept();
  }

  /** Accepts changes of the clone's configuration. */
  accept(): Promise<void> {
    return this.#opened(async (transport) => {
      await transport.acceptSettings(await transport.changedSettings());
    });
  }

  /** Fetches news from the remote, as the bus does. */
  news(): Promise<void> {
    return this.#opened(async (transport) => {
      await transport.refresh();
    });
  }

  async #opened(work: (transport: Transport) => Promise<void>): Promise<void> {
    const { transport } = await openTransport(this.dir, { ...process.env, ...this.env });
    await work(transport);
    transport.close();
  }

  /** Approves everything that is held, by digest, as an operator who has examined it; returns it. */
  async approve(): Promise<Held[]> {
    const shown = await this.run('host', 'show', '--host', this.alias, '--json');
    if (shown.code !== 0) throw new Error(shown.err);
    const { held } = JSON.parse(shown.out) as { held: Held[] };
    if (held.length === 0) return [];
    const digests = held.map(({ digest }) => digest);
    const approved = await this.run('host', 'approve', '--host', this.alias, ...digests);
    if (approved.code !== 0) throw new Error(approved.err);
    return held;
  }

  /** Commits files on the remote, as the work of somebody else in the same transport. */
  edit(files: Record<string, string | Buffer>, branch = 'main'): void {
    commitTo(this.bus.hub.replace(/^file:\/\//, ''), files, { branch });
  }

  /** Removes a file, on the remote. */
  remove(path: string): void {
    commitTo(this.bus.hub, { [path]: undefined });
  }

  /**
   * The id of the channel "general". There may be others, and the order of their random ids varies.
   */
  channel(): string {
    const where = ['main', '--', 'data/channels/*/CHANNEL.md'];
    const found = git(
      this.bus.hub,
      'grep',
      '--files-with-matches',
      '^name: "*general"*$',
      ...where,
    );
    return /^main:data\/channels\/([^/\n]+)\/CHANNEL\.md$/.exec(found.trim())?.[1] ?? '';
  }
}

/** A dispatcher running in this process. */
export class Running {
  readonly events: Event[] = [];
  readonly #controller = new AbortController();
  readonly done: Promise<Ran>;

  constructor(host: Host, options: readonly string[]) {
    this.done = host.runWith(
      {
        stop: this.#controller.signal,
        onErr: (text) => {
          this.events.push(...events(text));
        },
      },
      'dispatch',
      '--host',
      host.alias,
      '--interval',
      '0.2',
      ...options,
    );
  }

  /** Waits for an event that matches. */
  saw(event: string, matches: (event: Event) => boolean = () => true): Promise<Event> {
    return until(
      () => `the event ${event}; seen: ${JSON.stringify(this.events.map((one) => one.event))}`,
      () => this.events.find((one) => one.event === event && matches(one)),
    );
  }

  /** The number of events of a kind so far. */
  count(event: string): number {
    return this.events.filter((one) => one.event === event).length;
  }

  async stop(): Promise<Ran> {
    this.#controller.abort();
    return this.done;
  }
}

export function events(log: string): Event[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Event);
}
