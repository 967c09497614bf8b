import { expect, it } from 'vitest';
import { Git } from '../../src/transport/git/git.ts';
import { Objects } from '../../src/transport/objects/objects.ts';
import { scratch } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { commitTo } from '../support/copies.ts';

it('what is read before and after the process of git is closed is what was asked for', async () => {
  const dir = scratch();
  git(dir, 'init', '--quiet', '--bare', '--initial-branch=main');
  const names = Array.from({ length: 60 }, (_, n) => `${String(n)}.md`);
  commitTo(dir, Object.fromEntries(names.map((name, n) => [name, `${name} `.repeat(100 * n)])));
  const objects = new Objects(new Git(dir, process.env), 1024 * 1024);
  const read = async (name: string): Promise<[string, boolean]> => {
    const object = await objects.read(`main:${name}`);
    return [
      name,
      object?.content?.toString() === `${name} `.repeat(100 * Number.parseInt(name, 10)),
    ];
  };
  for (let round = 0; round < 20; round++) {
    const before = names.map(read);
    // Some of the answers are here by now, and some are on their way.
    if (round % 2 === 1) await before[round];
    objects.close();
    const all = await Promise.all([...before, ...names.map(read)]);
    expect(all.filter(([, isRight]) => !isRight)).toEqual([]);
    if (round % 3 === 0) objects.close();
  }
  objects.close();
});
