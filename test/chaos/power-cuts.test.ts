import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { onCrashPoint } from '../../src/crash-points.ts';
import { isShort } from '../support/form.ts';
import { scratch } from '../support/bus.ts';
import { rowsIn } from '../support/rows.ts';
import { FaultyMachine } from './faulty-machine.ts';
import { Random } from './random.ts';

/** How many power cuts are played. */
const CUTS = Number(process.env['CHAOS_CUTS'] ?? (isShort ? '4' : '50'));
const SEED = Number(process.env['PROPERTY_SEED'] ?? '1');
/** Bytes that a disk writes whole or not at all. */
const SECTOR = 512;

/** Copies all there is, as another process: to close a file of the database here would end its locks. */
function copied(from: string, to: string): void {
  // References first, so that what they name is there, too; what others move away meanwhile is not needed. The
  // remote has no power cut, and its git ends.
  const copy = `cd "$1" && mkdir "$2" && cp -a --parents hub.git/refs front-state/git/refs "$2"; cp -an . "$2"; rm -f "$2/hub.git/refs/heads/"*.lock`;
  spawnSync('sh', ['-c', copy, 'sh', from, to]);
}

/** What there was before the commit of each step of the database, while something works. */
async function recorded(machine: FaultyMachine, work: () => Promise<unknown>): Promise<string[]> {
  const folder = scratch();
  const steps: string[] = [];
  onCrashPoint((point) => {
    if (point !== 'row_written') return;
    const step = join(folder, String(steps.length));
    copied(machine.bus.root, step);
    steps.push(step);
  });
  await work();
  onCrashPoint(() => undefined);
  return steps;
}

/** The log as a disk may have it when the power goes during a commit: each new sector is there or not. */
function torn(before: Buffer, after: Buffer, random: Random): Buffer {
  const share = random.pick([0, 0.5, 0.9, 1]);
  const cut = Buffer.alloc(after.length);
  before.copy(cut);
  for (let at = 0; at < after.length; at += SECTOR)
    if (random.next() < share) after.copy(cut, at, at, at + SECTOR);
  return cut;
}

it(
  'a power cut in the middle of a commit loses nothing that was recorded before, and no run is paid for twice',
  { tags: 'sampled', timeout: 60_000 + CUTS * 6000 },
  async () => {
    const machine = new FaultyMachine();
    await machine.open();
    await machine.askFour();
    const steps = await recorded(machine, () => machine.settle());
    expect(machine.leftOfFour()).toEqual([]);
    expect(steps.length).toBeGreaterThan(20);

    const random = new Random(SEED);
    const problems: string[] = [];
    for (let cut = 0; cut < CUTS; cut++) {
      const step = random.between(0, steps.length - 2);
      const [before = '', after = ''] = steps.slice(step);
      execFileSync('find', [machine.bus.root, '-mindepth', '1', '-delete']);
      execFileSync('cp', ['-a', `${before}/.`, machine.bus.root]);
      const path = join(machine.host.state, 'state.db-wal');
      writeFileSync(
        path,
        torn(readFileSync(path), readFileSync(join(after, 'front-state/state.db-wal')), random),
      );
      // What is shared in memory is not on the disk.
      rmSync(join(machine.host.state, 'state.db-shm'), { force: true });
      // What is on record after the cut may not be run again.
      for (const { delivery } of rowsIn(machine.host.state, 'outbox')) {
        const { messages = [] } = (delivery ?? {}) as { messages?: string[] };
        appendFileSync(machine.ledger, `recorded ${messages.join()}\n`);
      }
      const found = [...(await machine.settle()), ...machine.leftOfFour(2), ...machine.repeated()];
      problems.push(
        ...found.map((problem) => `cut ${String(cut)} in step ${String(step)}: ${problem}`),
      );
    }
    expect(problems).toEqual([]);
  },
);
