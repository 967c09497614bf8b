import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTree, removeTree } from '../../src/transport/worktree/make.ts';
import { findSource } from '../../src/transport/worktree/source.ts';
import { against, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran } from '../measure.ts';
import { World } from '../world.ts';

const FILES = 10_000;
const PER_FOLDER = 100;

/** A copy of a repository of many files for a thread, compared to a local clone by git itself. */
export async function worktree({ rounds }: Scale): Promise<Figure[]> {
  const world = await World.make();
  try {
    const app = join(world.root, 'app');
    await makeRepository(world, app);
    const source = await findSource(app);
    const signal = new AbortController().signal;
    const [clone, copy] = [join(world.root, 'clone'), join(world.root, 'copy')];
    const spreads = await inTurn(rounds, {
      clear: async () => {
        rmSync(clone, { recursive: true, force: true });
        await removeTree({ dir: copy });
      },
      'git clone --local': () =>
        ran('git', ['clone', '--quiet', '--local', app, clone], {
          cwd: world.root,
          env: world.env,
        }),
      worktree: () =>
        makeTree(world.env, source, { dir: copy, branch: 'crosstalk/1f2e3d4c' }, signal),
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
