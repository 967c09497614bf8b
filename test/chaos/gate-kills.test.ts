import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { CrashPoint } from '../../src/crash-points.ts';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import { PATIENCE_MS } from './chaos-bus.ts';
import { buildDoomed, startDoomed } from './doomed-process.ts';

beforeAll(buildDoomed);

/** A machine with a gated actor, and how often it has planned and worked. */
class GatedBus {
  readonly bus = new Bus();
  host!: Host;

  async open(): Promise<void> {
    const counts = (kind: string): string =>
      `cat > ${this.bus.root}/$(mktemp -u ${kind}-XXXXXXXX); echo ${kind}`;
    this.host = await this.bus.host('tower', {
      builder: { default: { cli: counts('real'), gate: 'anna', gate_plan: counts('plan') } },
    });
    writeFileSync(join(this.bus.root, 'ledger'), '');
    await this.host.send('builder', 'move the tables', '--from', 'anna');
  }

  runs(kind: 'plan' | 'real'): number {
    return readdirSync(this.bus.root).filter((name) => name.startsWith(`${kind}-`)).length;
  }

  /** Runs a dispatcher until it kills itself. */
  async killed(point: CrashPoint): Promise<void> {
    const ledger = join(this.bus.root, 'ledger');
    const doomed = startDoomed(this.host, { point, count: 1, ledger, onEvent: () => undefined });
    expect(await doomed.ended).toBe('SIGKILL');
  }

  /** Passes of an ordinary dispatcher; the first may find what git of the killed one has left. */
  async settle(): Promise<void> {
    await this.host.once().catch(() => undefined);
    await this.host.once();
    await this.host.once();
  }

  get proposals(): Stored[] {
    return this.bus.from('builder').filter(({ message }) => message.proposal === true);
  }

  get answers(): string[] {
    const said = this.bus.from('builder').filter(({ message }) => message.interim !== true);
    return said.map(({ message }) => message.body.trim());
  }

  async decide(decision: 'approve' | 'deny'): Promise<void> {
    const [proposal] = this.proposals;
    const ran = await this.host.run(decision, proposal?.relPath ?? '', 'so', '--from', 'anna');
    expect(ran.code).toBe(0);
  }
}

it.each([['gate_written'], ['proposal_queued'], ['pushed']] as const)(
  'a dispatcher that is killed at %s has planned once, and asks once',
  async (point) => {
    const gated = new GatedBus();
    await gated.open();
    await gated.killed(point);
    await gated.settle();
    expect([gated.runs('plan'), gated.proposals.length]).toEqual([1, 1]);
    await gated.decide('approve');
    await gated.settle();
    expect([gated.runs('plan'), gated.runs('real'), gated.answers]).toEqual([1, 1, ['real']]);
  },
  PATIENCE_MS,
);

it.each([['decision_written'], ['output_recorded'], ['settled'], ['outbox_removed']] as const)(
  'a dispatcher that is killed at %s of an approved run answers once, with one run',
  { tags: 'long' },
  async (point) => {
    const gated = new GatedBus();
    await gated.open();
    await gated.settle();
    await gated.decide('approve');
    await gated.killed(point);
    await gated.settle();
    expect([gated.runs('plan'), gated.runs('real'), gated.answers]).toEqual([1, 1, ['real']]);
    expect(JSON.parse((await gated.host.run('status', '--json')).out)).toMatchObject({ gated: [] });
  },
);

it.each([['decision_written'], ['denial_queued'], ['pushed'], ['settled']] as const)(
  'a dispatcher that is killed at %s of a denial says so once, and runs nothing',
  { tags: 'long' },
  async (point) => {
    const gated = new GatedBus();
    await gated.open();
    await gated.settle();
    await gated.decide('deny');
    await gated.killed(point);
    await gated.settle();
    expect([gated.runs('plan'), gated.runs('real'), gated.answers]).toEqual([
      1,
      0,
      ['anna denied the plan: so'],
    ]);
    expect(JSON.parse((await gated.host.run('status', '--json')).out)).toMatchObject({ gated: [] });
  },
);

it(
  'a run that is killed before it has said anything is made again by the same approval',
  { tags: 'long' },
  async () => {
    const gated = new GatedBus();
    await gated.open();
    await gated.settle();
    await gated.decide('approve');
    await gated.killed('cli_ended');
    await gated.settle();
    expect([gated.runs('plan'), gated.runs('real'), gated.answers]).toEqual([1, 2, ['real']]);
  },
);
