import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTree } from '../../src/transport/worktree/make.ts';
import { findSource } from '../../src/transport/worktree/source.ts';
import { against, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran } from '../measure.ts';
import { World } from '../world.ts';

const FILES = 10_000;
/** Each round leaves twice as many files as the repository has. */
const MOST_ROUNDS = 7;
const PER_FOLDER = 100;

/**
 * A copy of a repository of many files for a thread, compared to a local clone by git itself. Nothing is
 * removed in between: ext4 looks for the inode of a new file past all those that were freed within the last
 * minute, which takes ten times as long as everything else, and not equally for both.
 */
export async function worktree({ rounds }: Scale): Promise<Figure[]> {
  const world = await World.make();
  try {
    const app = join(world.root, 'app');
    await makeRepository(world, app);
    const source = await findSource(app);
    const signal = new AbortController().signal;
    let serial = 0;
    const fresh = (what: string): string => join(world.root, `${what}-${String(serial++)}`);
    const spreads = await inTurn(Math.min(rounds, MOST_ROUNDS), {
      'git clone --local': () =>
        ran('git', ['clone', '--quiet', '--local', app, fresh('clone')], {
          cwd: world.root,
          env: world.env,
        }),
      worktree: () =>
        makeTree(
          world.env,
          source,
          { actor: 'dev', dir: fresh('copy'), branch: 'crosstalk/1f2e3d4c' },
          signal,
        ),
    });
    const floor = { what: 'git clone --local', ...spreads['git clone --local'] };
    return [against('worktree of 10,000 files', floor, spreads.worktree, 1.3)];
  } finally {
    await world.end();
  }
}

/** Files of some kilobytes, as sources are. */
async function makeRepository(world: World, app: string): Promise<void> {
  mkdirSync(app);
  const git = (...args: string[]): Promise<unknown> =>
    ran('git', args, { cwd: app, env: world.env });
  await git('init', '--quiet', '--initial-branch=main');
  await git('config', 'gc.auto', '0');
  for (let n = 0; n < FILES; n++) {
    const folder = join(app, `part-${String(Math.floor(n / PER_FOLDER))}`);
    if (n % PER_FOLDER === 0) mkdirSync(folder);
    writeFileSync(
      join(folder, `file-${String(n)}.ts`),
      `export const n = ${String(n)};\n`.repeat(80),
    );
  }
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'all');
  await git('repack', '--quiet', '-a', '-d');
}
