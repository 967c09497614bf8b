import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { confine } from '../../src/dispatcher/sandbox/confine.ts';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { USUAL_SANDBOX } from '../../src/protocol/files/tier-sandbox.ts';
import type { Figure, Scale } from '../figure.ts';
import { inTurn, ran } from '../measure.ts';
import { World } from '../world.ts';

/** Milliseconds that a sandbox may add to a run. */
const MOST_MS = 80;

/** What a sandbox adds to a command: making it, its way to the network, and its end. */
export async function sandbox({ rounds }: Scale): Promise<Figure[]> {
  const world = await World.make();
  try {
    const backend = await findBackend(world.env);
    if (!backend.ok) return [];
    const [cwd, runDir, state] = ['work', 'run', 'state'].map((name) => join(world.root, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [cwd, runDir, state]) mkdirSync(folder);
    const inIt = async (net: readonly string[]): Promise<void> => {
      const confined = await confine({
        ...{ sandbox: { ...USUAL_SANDBOX, net }, program: backend.program, command: 'true' },
        ...{ actor: 'bench', cwd, runDir, env: world.env, stateDir: state, stateHome: state },
        transport: { dir: world.root, gitDirs: [] },
        ...{ tiers: [], log: () => undefined, now: () => new Date() },
      });
      try {
        const words = [...confined.wrap, '/bin/sh', '-c', 'true'];
        await ran(words[0] ?? '', words.slice(1), { cwd, env: confined.env });
      } finally {
        await confined.close();
      }
    };
    const spreads = await inTurn(rounds, {
      plain: () => ran('/bin/sh', ['-c', 'true'], { cwd, env: world.env }),
      'without network': () => inIt(['none']),
      'with a proxy': () => inIt(['api.example.com']),
    });
    return (['without network', 'with a proxy'] as const).map((name) => {
      const floor = {
        ...spreads.plain,
        what: `sh -c true + ${String(MOST_MS)} ms`,
        median: spreads.plain.median + MOST_MS,
      };
      const ratio = spreads[name].median / floor.median;
      return {
        figure: `sandbox ${name}`,
        ...{ floor, measured: spreads[name], ratio, goal: '≤ 1×', met: ratio <= 1 },
      };
    });
  } finally {
    await world.end();
  }
}
