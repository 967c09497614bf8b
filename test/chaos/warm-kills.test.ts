import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { CrashPoint } from '../../src/crash-points.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';
import { PATIENCE_MS } from './chaos-bus.ts';
import { buildDoomed, settle, startDoomed, type Doomed } from './doomed-process.ts';
import { Random } from './random.ts';
import { sample } from '../support/form.ts';

const KILLS = Number(process.env['CHAOS_KILLS'] ?? '10');
const SEED = Number(process.env['CHAOS_SEED'] ?? String(Date.now() % 1_000_000));

beforeAll(buildDoomed);

interface Started {
  pid: number;
  run?: string;
}

/** A machine whose worker is kept, and how its CLI was started. */
class WarmBus {
  readonly bus = new Bus();
  host!: Host;
  doomed: Doomed | undefined;

  async open(): Promise<void> {
    this.host = await this.bus.host('tower', {});
    const folder = join(this.bus.root, 'keeping');
    mkdirSync(folder);
    writeFileSync(join(this.bus.root, 'ledger'), '');
    this.host.env['KEEPING'] = folder;
    const cli = agent('warm/gemini', '--skip-trust');
    const tier = { cli, session: 'warm', attempts: 1000, retry_delay: 1 };
    this.host.declare({ worker: { default: tier } });
    await this.host.approve();
  }

  start(point: CrashPoint | 'none', count: number): Doomed {
    const ledger = join(this.bus.root, 'ledger');
    this.doomed = startDoomed(this.host, { point, count, ledger, onEvent: () => undefined });
    return this.doomed;
  }

  /** Asks in a new thread, or on in that of an answer. */
  async ask(text: string, answer?: string): Promise<void> {
    const asked =
      answer === undefined
        ? await this.host.run('send', '--to', 'worker', text)
        : await this.host.run('reply', answer, text);
    expect(asked.code, asked.err).toBe(0);
  }

  get answers() {
    return this.bus.from('worker');
  }

  /** Which questions were answered, in alphabetical order. */
  get answered(): (string | undefined)[] {
    const asked = new Map(this.bus.messages().map(({ relPath, message }) => [relPath, message]));
    return this.answers
      .flatMap(({ message }) => message.re.map((ref) => asked.get(ref)?.body.trim()))
      .sort();
  }

  get starts(): Started[] {
    const file = join(this.bus.root, 'keeping', 'log');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    return lines
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Started & { started?: true })
      .filter(({ started }) => started === true);
  }

  /** How many prompts were given. */
  get prompts(): number {
    const file = join(this.bus.root, 'keeping', 'log');
    return existsSync(file) ? readFileSync(file, 'utf8').split('"prompt"').length - 1 : 0;
  }

  /** Those of the started CLIs that are there; another process may have the number of one that has ended. */
  get alive(): Started[] {
    return this.starts.filter(({ pid }) => isAlive(pid, join(this.bus.root, 'keeping')));
  }

  async isEmpty(): Promise<void> {
    await until('nothing to be left', () => this.left.length === 0).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${this.left.join()}`);
    });
  }

  /** What is left of sessions: processes, records and directories. */
  get left(): string[] {
    const names = (folder: string): string[] =>
      existsSync(join(this.host.state, folder)) ? readdirSync(join(this.host.state, folder)) : [];
    return [
      ...this.alive.map(({ pid }) => `process ${String(pid)}`),
      ...names('warm-sessions'),
      ...names('run'),
    ];
  }
}

function isAlive(pid: number, keeping: string): boolean {
  try {
    process.kill(pid, 0);
    return (
      process.platform !== 'linux' ||
      readFileSync(`/proc/${String(pid)}/environ`, 'utf8').includes(`KEEPING=${keeping}`)
    );
  } catch {
    return false;
  }
}

it.each(
  sample([
    ['warm_recorded', 1],
    ['run_recorded', 1],
    ['run_recorded', 2],
    ['cli_ended', 2],
    ['raw_recorded', 2],
    ['output_recorded', 2],
    ['session_kept', 1],
    ['warm_waits', 1],
    ['warm_waits', 2],
    ['warm_ended', 1],
  ] as const),
)(
  'a dispatcher that is killed at %s, the %i. time, leaves no process, and every question has one answer',
  { tags: 'sampled' },
  async (point, count) => {
    const warm = new WarmBus();
    await warm.open();
    // Where there is room for one, a second thread ends the first.
    if (point === 'warm_ended') git(warm.host.dir, 'config', 'crosstalk.warmSessions', '1');
    const doomed = warm.start(point, count);
    let isOver = false;
    void doomed.ended.then(() => (isOver = true));
    await warm.ask('ASKED-1');
    await until('an answer, or the end', () => warm.answers.length > 0 || isOver);
    const last = point === 'warm_ended' ? undefined : warm.answers.at(-1)?.relPath;
    await warm.ask('ASKED-2', last);
    expect(await doomed.ended).toBe('SIGKILL');
    await settle(warm.host);
    expect(warm.answered).toEqual(['ASKED-1', 'ASKED-2']);
    await warm.isEmpty();
  },
);

it.each(
  sample([
    ['steers', 'steering_recorded'],
    ['steers', 'steering_told'],
    ['steers', 'output_recorded'],
    ['', 'steering_recorded'],
    ['', 'steering_told'],
    ['', 'cli_ended'],
    ['deaf', 'ledger_written'],
  ] as const),
)(
  'a dispatcher whose agent is "%s" and that is killed at %s, as more is said while it works, gives one answer to both',
  { tags: 'sampled' },
  async (mood, point) => {
    const warm = new WarmBus();
    await warm.open();
    writeFileSync(join(warm.bus.root, 'keeping', 'mood'), mood);
    const doomed = warm.start(point, 1);
    let isOver = false;
    void doomed.ended.then(() => (isOver = true));
    await warm.ask('please wait ASKED-1');
    await until('the turn', () => warm.prompts > 0);
    const more = await warm.host.run('send', '--to', 'worker', '--now', 'ASKED-2');
    expect(more.code, more.err).toBe(0);
    await until('the end', () => isOver, PATIENCE_MS);
    expect(await doomed.ended).toBe('SIGKILL');
    // What begins anew finds nothing to wait for.
    writeFileSync(join(warm.bus.root, 'keeping', 'go'), '');
    await settle(warm.host);
    expect(warm.answered).toEqual(['ASKED-2', 'please wait ASKED-1']);
    expect(new Set(warm.answers.map(({ relPath }) => relPath)).size).toBe(1);
    await warm.isEmpty();
  },
);

it(
  `nothing is lost, answered twice or left behind by ${String(KILLS)} kills of kept processes and their dispatcher`,
  { tags: 'long' },
  async () => {
    const random = new Random(SEED);
    const warm = new WarmBus();
    await warm.open();
    const asked: string[] = [];
    const ask = async (): Promise<void> => {
      const text = `ASKED-${String(asked.length + 1).padStart(4, '0')}`;
      asked.push(text);
      const on = random.next() < 0.7 && warm.answers.length > 0;
      await warm.ask(text, on ? random.pick(warm.answers).relPath : undefined);
    };
    let doomed = warm.start('none', 1);
    for (let kill = 0; kill < KILLS; kill++) {
      await ask();
      await sleep(random.between(0, 600));
      const { alive } = warm;
      if (random.next() < 0.5 && alive.length > 0) process.kill(random.pick(alive).pid, 'SIGKILL');
      else {
        doomed.child.kill('SIGKILL');
        await doomed.ended;
        doomed = warm.start('none', 1);
      }
    }
    await until(
      `all answers (seed ${String(SEED)})`,
      () => new Set(warm.answered).size === asked.length,
      PATIENCE_MS,
    );
    doomed.child.kill('SIGKILL');
    await doomed.ended;
    await settle(warm.host);
    expect(warm.answered, `seed ${String(SEED)}`).toEqual(asked);
    await warm.isEmpty();
  },
);
