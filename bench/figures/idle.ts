import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, Scale } from '../figure.ts';
import { World } from '../world.ts';

/** Ticks per second of the clock in /proc, on every Linux on which Node runs. */
const HERTZ = 100;
const RESIDENT_MB = 90;

/** The processor time of a dispatcher in a large transport while nothing happens. */
export async function idle({ sizes, idle: seconds }: Scale): Promise<Figure[]> {
  const large = sizes.at(-1) ?? 0;
  const world = await World.make();
  try {
    const machine = await world.machine('idle');
    await machine.run('dispatch', '--once', '--host', 'idle');
    await world.git(machine.dir, 'checkout', '--quiet', '--detach');
    await world.fill(large);
    await world.git(machine.dir, 'fetch', '--quiet');
    // It has caught up now; the measured dispatcher is started after that.
    await machine.run('dispatch', '--once', '--host', 'idle');
    const serving = await machine.serve();
    // Wait until the time between polls has grown to the interval.
    await sleep(Math.min(90, seconds) * 1000);
    const pid = serving.child.pid ?? 0;
    const from = used(pid);
    const begun = performance.now();
    await sleep(seconds * 1000);
    const share = ((used(pid) - from) / ((performance.now() - begun) / 1000)) * 100;
    const resident = residentOf(pid);
    await serving.stop();
    return [
      {
        figure: `dispatcher resident memory, idle, ${large.toLocaleString('en')} messages`,
        value: `${resident.toFixed(0)} MB`,
        goal: `≤ ${String(RESIDENT_MB)} MB`,
        met: resident <= RESIDENT_MB,
        note: `node -e by itself: ${(await nodeAlone()).toFixed(0)} MB`,
      },
      {
        figure: 'dispatcher CPU, idle, default interval',
        value: `${share.toFixed(2)} %`,
        goal: '< 0.5 %',
        met: share < 0.5,
        note: `its git processes included, over ${String(seconds)} s`,
      },
    ];
  } finally {
    await world.end();
  }
}

/** Seconds of processor time of a process and of the children for which it has waited. */
export function used(pid: number): number {
  const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / HERTZ;
}

/** Megabytes of a process that are in memory. */
export function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

async function nodeAlone(): Promise<number> {
  const { spawn } = await import('node:child_process');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)']);
  await sleep(500);
  const resident = residentOf(child.pid ?? 0);
  child.kill();
  return resident;
}
