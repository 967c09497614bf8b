import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { formatMessage } from '../src/protocol/message.ts';
import { messageFile, relPathAt } from '../src/protocol/layout.ts';
import { ran, type Ended } from './measure.ts';

export const BIN = fileURLToPath(new URL('../bin/crosstalk.js', import.meta.url));

/** A bare remote and the machines that share it, independent of the real HOME and settings. */
export class World {
  readonly root = mkdtempSync(join(tmpdir(), 'crosstalk-bench-'));
  readonly hub = join(this.root, 'hub.git');
  /** The address of the remote, for machines that join. */
  remote = this.hub;
  readonly env: NodeJS.ProcessEnv;
  readonly #programs: ChildProcess[] = [];
  #filled = 0;

  constructor() {
    const inherited = Object.entries(process.env).filter(
      // What a surrounding Node was told, such as more certificates to read, would make each process slower.
      ([name]) => !/^(CROSSTALK_|GIT_|XDG_|NODE_)/.test(name),
    );
    mkdirSync(join(this.root, 'home'));
    writeFileSync(join(this.root, 'gitconfig'), '[user]\nname = b\nemail = b@b\n');
    this.env = {
      ...Object.fromEntries(inherited),
      HOME: join(this.root, 'home'),
      GIT_CONFIG_GLOBAL: join(this.root, 'gitconfig'),
      GIT_CONFIG_NOSYSTEM: '1',
      NO_COLOR: '1',
    };
  }

  static async make(): Promise<World> {
    const world = new World();
    mkdirSync(world.hub);
    await world.git(world.hub, 'init', '--quiet', '--bare', '--initial-branch=main');
    return world;
  }

  async git(dir: string, ...args: string[]): Promise<string> {
    return (await ran('git', ['-C', dir, ...args], { cwd: this.root, env: this.env })).out.trim();
  }

  /** Joins a machine whose actor `echo` answers with a word. */
  async machine(alias: string, cli = 'echo done', actor = alias): Promise<Machine> {
    const machine = new Machine(this, alias);
    await ran(
      process.execPath,
      [
        BIN,
        'init',
        machine.dir,
        '--remote',
        this.remote,
        '--alias',
        alias,
        '--actor',
        actor,
        '--cli',
        cli,
      ],
      { cwd: this.root, env: machine.env },
    );
    return machine;
  }

  track(child: ChildProcess): void {
    this.#programs.push(child);
  }

  /** Ends the started processes and removes everything. */
  async end(): Promise<void> {
    for (const child of this.#programs) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }

  /**
   * Commits messages to the bus, by default a thousand in a commit.
   *
   * @returns their size in bytes
   */
  async fill(
    messages: number,
    { perCommit = PER_COMMIT, body = sentence, to = 'nobody' }: Partial<Filling> = {},
  ): Promise<number> {
    this.#filled = messages;
    return this.#import(0, messages, { perCommit, body, to });
  }

  /** Adds messages in one commit. */
  async append(messages: number): Promise<void> {
    const first = this.#filled;
    this.#filled += messages;
    await this.#import(first, this.#filled, {
      perCommit: PER_COMMIT,
      body: sentence,
      to: 'nobody',
    });
  }

  async #import(begin: number, end: number, { perCommit, ...of }: Filling): Promise<number> {
    const listed = await this.git(this.hub, 'ls-tree', '--name-only', 'main', 'data/channels/');
    const channel = listed.split('\n')[0]?.slice('data/channels/'.length) ?? '';
    const tip = await this.git(this.hub, 'rev-parse', 'main');
    const child = spawn('git', ['-C', this.hub, 'fast-import', '--quiet', '--force'], {
      env: this.env,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const ended = once(child, 'close');
    let parent = tip;
    let bytes = 0;
    for (let first = begin, mark = 1; first < end; first += perCommit, mark++) {
      const part = commitOf(channel, first, Math.min(end, first + perCommit), mark, parent, of);
      bytes += part.bytes;
      parent = `:${String(mark)}`;
      if (!child.stdin.write(part.text)) await once(child.stdin, 'drain');
    }
    child.stdin.end();
    await ended;
    return bytes;
  }
}

/** The content of the messages, for whom they are, and how many of them share a commit. */
interface Filling {
  perCommit: number;
  body: (n: number) => string;
  to: string;
}

const PER_COMMIT = 1000;
const FIRST_AT = Date.UTC(2024, 0, 1);
const APART_MS = 45_000;

function commitOf(
  channel: string,
  first: number,
  end: number,
  mark: number,
  parent: string,
  { body, to }: Omit<Filling, 'perCommit'>,
): { text: string; bytes: number } {
  let bytes = 0;
  const parts = [
    `commit refs/heads/main\nmark :${String(mark)}\ncommitter b <b@b> 1700000000 +0000\ndata 0\nfrom ${parent}\n`,
  ];
  for (let n = first; n < end; n++) {
    const at = new Date(FIRST_AT + n * APART_MS);
    const content = formatMessage({
      from: `writer${String(n % 7)}`,
      to: [{ name: to }],
      type: 'text',
      timestamp: at.toISOString(),
      re: [],
      cause: [],
      extra: {},
      body: body(n),
    });
    bytes += Buffer.byteLength(content);
    const path = messageFile(channel, relPathAt(at, n.toString(16).padStart(8, '0')));
    parts.push(`M 100644 inline ${path}\ndata ${String(Buffer.byteLength(content))}\n${content}\n`);
  }
  return { text: parts.join(''), bytes };
}

const sentence = (n: number): string =>
  `Message ${String(n)} of the archive, about ${WORDS[n % WORDS.length] ?? ''}.\n`;
const WORDS = ['cursors', 'outboxes', 'dead letters', 'tiers', 'channels', 'hosts', 'memories'];

/** A clone and its state directory. */
export class Machine {
  readonly world: World;
  readonly alias: string;
  readonly dir: string;
  readonly state: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(world: World, alias: string) {
    this.world = world;
    this.alias = alias;
    this.dir = join(world.root, alias);
    this.state = join(world.root, `${alias}-state`);
    this.env = { ...world.env, CROSSTALK_STATE_DIR: this.state };
  }

  run(...argv: string[]): Promise<Ended> {
    return ran(process.execPath, [BIN, ...argv], {
      cwd: this.dir,
      env: { ...this.env, CROSSTALK_TRANSPORT: this.dir },
    });
  }

  /** Starts a command without waiting for it. */
  start(...argv: string[]): Started {
    const child = spawn(process.execPath, [BIN, ...argv], {
      cwd: this.dir,
      env: { ...this.env, CROSSTALK_TRANSPORT: this.dir },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.world.track(child);
    return new Started(child);
  }

  /** Starts a dispatcher and waits until it serves. */
  async serve(...options: string[]): Promise<Serving> {
    const child = spawn(
      process.execPath,
      [BIN, 'dispatch', '--transport', this.dir, '--host', this.alias, ...options],
      { cwd: this.dir, env: this.env, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.world.track(child);
    const serving = new Serving(child);
    await serving.saw('tick');
    return serving;
  }
}

/** A running command. */
class Started {
  readonly pid: number;
  readonly ended: Promise<unknown>;
  out = '';
  readonly #looks = new Set<() => void>();

  constructor(child: ChildProcess) {
    this.pid = child.pid ?? 0;
    this.ended = once(child, 'exit');
    child.stdout?.on('data', (chunk: Buffer) => {
      this.out += chunk.toString();
      for (const look of this.#looks) look();
    });
  }

  /** The time at which it had printed some words, as `performance.now()` measures it. */
  printed(words: string): Promise<number> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.out.includes(words)) return;
        this.#looks.delete(look);
        resolve(performance.now());
      };
      this.#looks.add(look);
      look();
    });
  }
}

/** A dispatcher in its own process, and what it has logged. */
export class Serving {
  readonly child: ChildProcess;
  log = '';

  constructor(child: ChildProcess) {
    this.child = child;
    child.stderr?.on('data', (chunk: Buffer) => {
      this.log += chunk.toString();
    });
  }

  events(name: string): Record<string, unknown>[] {
    return this.log
      .split('\n')
      .filter((line) => line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async saw(name: string, count = 1): Promise<void> {
    while (this.events(name).length < count) {
      if (this.child.exitCode !== null) throw new Error(`the dispatcher ended: ${this.log}`);
      await sleep(10);
    }
  }

  async stop(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await gone;
  }
}
