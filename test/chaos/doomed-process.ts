import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import type { CrashPoint } from '../../src/crash-points.ts';
import type { Event, Host } from '../support/bus.ts';
import { rowsIn } from '../support/rows.ts';

const here = dirname(fileURLToPath(import.meta.url));
/** The path of the doomed dispatcher after it was built. */
export const bundle = join(
  here,
  '../../node_modules/.cache/crosstalk',
  `doomed-${String(process.pid)}.mjs`,
);

/** What gives a process a clock that is off. */
const SHIFTED = ['--require', join(here, '../support/shifted-clock.cjs')];

/** Bundles the doomed dispatcher once, so that a thousand of them start quickly. */
export async function buildDoomed(): Promise<void> {
  mkdirSync(dirname(bundle), { recursive: true });
  await build({
    entryPoints: [join(here, 'doomed.ts')],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    // As in the build of the program: the other form of jsonc-parser cannot be bundled.
    mainFields: ['module', 'main'],
    logLevel: 'warning',
    // It finds what was compiled for the machine from where it is installed.
    external: ['@photostructure/sqlite'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  });
}

/** How a dispatcher has to die, and what receives its log. */
export interface Doom {
  /** `none`: it is only killed by others. */
  point: CrashPoint | 'any' | 'none';
  /** It dies the n-th time it passes the point. */
  count: number;
  ledger: string;
  /** Milliseconds between its polls. */
  interval?: number;
  /** A file with the seconds by which its clock is off. */
  clock?: string | undefined;
  onEvent: (event: Event, line: string) => void;
}

/** A dispatcher in its own process. */
export interface Doomed {
  child: ChildProcess;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts a dispatcher that dies as requested; it is removed when the test is over. */
export function startDoomed(host: Host, doom: Doom): Doomed {
  const { clock } = doom;
  const child = spawn(process.execPath, [...(clock === undefined ? [] : SHIFTED), bundle], {
    env: {
      ...process.env,
      ...host.env,
      CROSSTALK_TRANSPORT: host.dir,
      CHAOS_POINT: doom.point,
      CHAOS_COUNT: String(doom.count),
      CHAOS_LEDGER: doom.ledger,
      CHAOS_HOST: host.alias,
      CHAOS_INTERVAL: String(doom.interval ?? 100),
      ...(clock !== undefined && { CLOCK_OFFSET_FILE: clock }),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let rest = '';
  child.stderr.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines)
      if (line.startsWith('{')) doom.onEvent(JSON.parse(line) as Event, line);
  });
  const ended = once(child, 'exit').then(() => child.signalCode ?? child.exitCode);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, ended };
}

/**
 * Whether nothing runs on a machine, nothing waits to be pushed, and nothing is due to be tried
 * again.
 */
export function isAtRest(state: string): boolean {
  if (rowsIn(state, 'run').length > 0 || rowsIn(state, 'outbox').length > 0) return false;
  return rowsIn(state, 'dead-letter').every((letter) => letter['state'] !== 'retrying');
}

/** What is on disk of the work that keeps a machine from its rest, for the message of a failure. */
export function waitingIn(state: string): string {
  return ['run', 'outbox', 'dead-letter', 'notice', 'interruption']
    .flatMap((kind) => rowsIn(state, kind).map((row) => `${kind}: ${JSON.stringify(row)}`))
    .join('\n');
}

/**
 * Starts a dispatcher that is killed at a point; tells whether it came there before it had nothing to do.
 * What its actors do stands in the file `ledger` of the bus.
 */
export async function killedAt(host: Host, point: CrashPoint, count: number): Promise<boolean> {
  let ticks = 0;
  const doomed = startDoomed(host, {
    point,
    count,
    ledger: join(host.bus.root, 'ledger'),
    onEvent: ({ event, ...facts }) => {
      const isQuiet = event === 'tick' && facts['added'] === 0 && facts['running'] === 0;
      ticks = isQuiet ? ticks + 1 : 0;
      if (ticks === 10) doomed.child.kill('SIGTERM');
    },
  });
  return (await doomed.ended) === 'SIGKILL';
}

/** Passes of an ordinary dispatcher; the first may find what git of the killed one has left. */
export async function settle(host: Host): Promise<void> {
  await host.once().catch(() => undefined);
  for (let pass = 0; pass < 3; pass++) await host.once();
}
