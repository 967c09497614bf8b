import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { mountsOf } from '../../src/runner/sandbox/mounts.ts';
import { survey } from '../../src/runner/sandbox/survey.ts';
import { Bus, scratch } from '../support/bus.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;

/** What a run does to the folder it works in, and why the next one does not begin, if it does not. */
const ATTACKS: Record<string, { attack: string; back?: string; why?: RegExp }> = {
  'closes the folder that it works in': {
    attack: 'chmod 300 .',
    back: 'chmod 700 .',
    why: /cannot be looked through/,
  },
  'closes the folder of what is hidden': { attack: 'chmod 600 conf' },
  'closes that folder so that it cannot be listed': { attack: 'chmod 300 conf' },
  'closes that folder altogether': { attack: 'chmod 000 conf' },
  'makes a pipe whose name has a line break': {
    attack: `mkfifo "$(printf 'p\\nq')"`,
    back: 'rm p*',
    why: /has a line break/,
  },
  'makes more pipes than can be covered': {
    attack:
      'for n in 1 2 3 4 5 6 7 8; do for m in $(seq 110); do mkdir -p $m/$n/a/b/c/d; mkfifo $m/$n/a/b/c/d/p; done; done',
    back: 'rm -rf [0-9]*',
    why: /more mounts than can be made/,
  },
};

it.skipIf(!backend.ok).each(Object.entries(ATTACKS))(
  `a run that %s shows nothing to the next one, whose mail waits or which does without${UNLESS}`,
  { tags: 'long' },
  async (_, { attack, back = 'true', why }) => {
    const bus = new Bus();
    const work = join(bus.root, 'work');
    mkdirSync(join(work, 'conf'), { recursive: true });
    writeFileSync(join(work, 'conf/secret'), 'the secret');
    writeFileSync(join(work, 'conf/fixed'), 'as it was');
    const host = await bus.host('front', {});
    const [hide, read] = [[join(work, 'conf/secret')], [join(work, 'conf/fixed')]];
    const cli = 'eval "$(cat | sed -n "s/^RUN: //p")" 2>&1; echo done';
    host.declare({
      dev: { default: { cli, workdir: work, attempts: 1, sandbox: { net: ['none'], hide, read } } },
    });
    await host.approve();
    const saidTo = async (command: string): Promise<string> => {
      await host.send('dev', `RUN: ${command}`, '--new');
      const log = await host.once();
      expect(log.filter(({ event }) => event.includes('failed'))).toEqual([]);
      const parked = log.find(({ event }) => event === 'parked');
      return parked === undefined
        ? (bus.from('dev').at(-1)?.message.body ?? '')
        : `parked: ${String(parked['detail'])}`;
    };
    expect(await saidTo(attack)).toBe('done\n');
    const next = await saidTo('chmod 700 conf; cat conf/secret; echo evil > conf/fixed; true');
    if (why === undefined)
      expect(next).toMatch(/(?:Read-only|Permission denied|No such)[^]*done\n$/);
    else expect(next).toMatch(why);
    expect(next).not.toContain('the secret');
    chmodSync(work, 0o700);
    chmodSync(join(work, 'conf'), 0o700);
    expect(readFileSync(join(work, 'conf/fixed'), 'utf8')).toBe('as it was');
    execFileSync('/bin/sh', ['-c', back], { cwd: work });
    expect(await saidTo('true')).toBe('done\n');
  },
);

it('what is covered is so also where the same path is shown or may be written', () => {
  const of = { path: '/work', from: '/work' };
  const view = { links: [], show: [of], own: [], write: ['/work'], fixed: [], proc: [] };
  const mounts = mountsOf({ ...view, cover: [{ path: '/work', kind: 'folder' }] });
  const last = mounts.slice(0, mounts.indexOf('--remount-ro')).lastIndexOf('/work');
  expect(mounts[last - 1]).toBe('--tmpfs');
});

it('a file of the system whose name is not UTF-8 is not shown, nor is its folder', async () => {
  const root = scratch();
  mkdirSync(join(root, 'app'));
  writeFileSync(Buffer.from(`${root}/app/cl\xe9`, 'latin1'), '', { mode: 0o600 });
  const looked = [{ path: root, writable: false, isPublic: true }];
  expect(await survey(looked, new Set())).toMatchObject({
    cover: [{ path: join(root, 'app'), kind: 'folder' }],
  });
  writeFileSync(Buffer.from(`${root}/cl\xe9`, 'latin1'), '', { mode: 0o600 });
  expect(await survey(looked, new Set())).toHaveProperty('problem');
});
