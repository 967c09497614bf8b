import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { CrashPoint } from '../../src/crash-points.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { buildDoomed, startDoomed } from './doomed-process.ts';
import { sample } from '../support/form.ts';

beforeAll(buildDoomed);

/** A machine whose worker goes on with sessions, and how its CLI was started. */
class KeepingBus {
  readonly bus = new Bus();
  host!: Host;

  async open(): Promise<void> {
    this.host = await this.bus.host('tower', {});
    const folder = join(this.bus.root, 'keeping');
    mkdirSync(folder);
    writeFileSync(join(this.bus.root, 'ledger'), '');
    this.host.env['KEEPING'] = folder;
    const tier = { cli: agent('keeping/claude', '-p'), session: 'resume' };
    this.host.declare({ worker: { default: tier } });
    await this.host.approve();
    await this.host.send('worker', 'ASKED-1');
    await this.host.once();
    await this.ask('ASKED-2');
  }

  async ask(text: string): Promise<void> {
    const last = this.bus.from('worker').at(-1)?.relPath ?? '';
    const replied = await this.host.run('reply', last, text);
    expect(replied.code, replied.err).toBe(0);
  }

  get starts(): { id: string; resumed: boolean }[] {
    const lines = readFileSync(join(this.bus.root, 'keeping', 'log'), 'utf8').split('\n');
    return lines
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { id: string; resumed: boolean });
  }

  get kinds(): string[] {
    return this.starts.map(({ resumed }) => (resumed ? 'resumed' : 'fresh'));
  }

  get last(): string {
    const file = join(this.bus.root, 'keeping', this.starts.at(-1)?.id ?? '');
    return (JSON.parse(readFileSync(file, 'utf8')) as string[]).at(-1) ?? '';
  }

  /** Which questions were answered, oldest first. */
  get answered(): (string | undefined)[] {
    const asked = new Map(this.bus.messages().map(({ relPath, message }) => [relPath, message]));
    return this.bus
      .from('worker')
      .map(({ message }) => asked.get(message.re[0] ?? '')?.body.trim());
  }

  async killed(point: CrashPoint): Promise<void> {
    const ledger = join(this.bus.root, 'ledger');
    const doomed = startDoomed(this.host, { point, count: 1, ledger, onEvent: () => undefined });
    expect(await doomed.ended).toBe('SIGKILL');
  }

  async settle(): Promise<void> {
    await this.host.once().catch(() => undefined);
    await this.host.once();
  }
}

it.each(sample([['session_under'], ['run_recorded'], ['cli_ended'], ['raw_read']] as const))(
  'a dispatcher that is killed at %s goes on with no session of which it does not know what it has read',
  { tags: 'sampled' },
  async (point) => {
    const keeping = new KeepingBus();
    await keeping.open();
    await keeping.killed(point);
    await keeping.settle();
    expect(keeping.answered).toEqual(['ASKED-1', 'ASKED-2']);
    expect(keeping.kinds.at(-1)).toBe('fresh');
    expect(keeping.last).toContain('ASKED-1');
    await keeping.ask('ASKED-3');
    await keeping.settle();
    expect(keeping.answered).toEqual(['ASKED-1', 'ASKED-2', 'ASKED-3']);
    expect(keeping.kinds.at(-1)).toBe('resumed');
    expect(keeping.last).not.toContain('ASKED-2');
  },
);

it.each([
  ['output_recorded', 'fresh'],
  ['run_removed', 'fresh'],
  ['session_kept', 'resumed'],
] as const)(
  'a dispatcher that is killed at %s answers once, with one run, and the next one is %s',
  { tags: 'long' },
  async (point, next) => {
    const keeping = new KeepingBus();
    await keeping.open();
    await keeping.killed(point);
    await keeping.settle();
    expect(keeping.answered).toEqual(['ASKED-1', 'ASKED-2']);
    expect(keeping.kinds).toEqual(['fresh', 'resumed']);
    await keeping.ask('ASKED-3');
    await keeping.settle();
    expect(keeping.answered).toEqual(['ASKED-1', 'ASKED-2', 'ASKED-3']);
    expect(keeping.kinds.at(-1)).toBe(next);
    expect(keeping.last.includes('ASKED-2')).toBe(next === 'fresh');
  },
);
