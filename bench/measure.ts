import { spawn } from 'node:child_process';

/** The times of some runs in milliseconds. */
export interface Spread {
  median: number;
  p95: number;
  runs: number;
}

export function spread(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { median: at(0.5), p95: at(0.95), runs: sorted.length };
}

export async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/**
 * Runs each of some works in turn, A B A B …, so that all of them run under the same conditions;
 * the first round is for warming up and is not counted.
 */
export async function inTurn<Name extends string>(
  rounds: number,
  works: Record<Name, () => unknown>,
): Promise<Record<Name, Spread>> {
  const names = Object.keys(works) as Name[];
  const samples = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const ms = await timed(works[name]);
      if (round > 0) samples.get(name)?.push(ms);
    }
  }
  const spreads = names.map((name) => [name, spread(samples.get(name) ?? [])]);
  return Object.fromEntries(spreads) as Record<Name, Spread>;
}

export interface Ended {
  out: string;
  err: string;
}

/** Runs a program until it ends; throws when it fails. */
export function ran(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; input?: string | Buffer },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: options.cwd, env: options.env });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input);
    child.once('error', reject);
    child.once('close', (code) => {
      const ended = { out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
      if (code === 0) resolve(ended);
      else reject(new Error(`${program} ${args.join(' ')}: ${String(code)}\n${ended.err}`));
    });
  });
}
