import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder } from '../../src/folder.ts';
import { Bus, scratch } from '../support/bus.ts';
import { Program } from '../support/process.ts';

it.skipIf(!existsSync('/proc/self'))(
  'a folder that cannot be made is refused at once, wherever it is named',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const odd = '/proc/crosstalk-test';
    const ran = async (env: NodeJS.ProcessEnv, ...argv: string[]): Promise<[unknown, string]> => {
      const program = new Program({ dir: host.dir, env: { ...host.env, ...env } }, ...argv);
      return [await program.ended(), program.err];
    };
    const why = `ENOENT: no such file or directory, mkdir '${odd}`;

    expect(await ran({}, 'memory', 'export', `${odd}/notes`)).toEqual([
      1,
      expect.stringContaining(`the folder ${odd}/notes cannot be used: ${why}`),
    ]);
    expect(await ran({}, 'init', odd, '--cli', 'true')).toEqual([
      1,
      `crosstalk init: cannot make a transport at ${odd}: ${why}'; name another folder, or make this one yours and give it room: crosstalk init <dir>\n`,
    ]);
    expect(await ran({ CROSSTALK_STATE_DIR: odd }, 'status')).toEqual([
      1,
      expect.stringContaining(`cannot make the state directory ${odd}: ${why}`),
    ]);
    const home = { CROSSTALK_STATE_DIR: '', XDG_STATE_HOME: odd };
    expect(await ran(home, 'status')).toEqual([1, expect.stringContaining(why)]);
  },
);

it('init says of a folder that cannot be read that it cannot, and what to do', async () => {
  const root = scratch();
  symlinkSync('loop', join(root, 'loop'));
  const program = new Program({ dir: root, env: {} }, 'init', 'loop', '--cli', 'true');
  expect([await program.ended(), program.err]).toEqual([
    1,
    expect.stringMatching(
      /^crosstalk init: cannot make a transport at \S+loop: ELOOP: .*; name another folder, .*crosstalk init <dir>\n$/,
    ),
  ]);
});

it('makes the folders that are missing, and says which was the first', async () => {
  const root = scratch();
  expect(await makeFolder(join(root, 'a/b/c'), 0o700)).toBe(join(root, 'a'));
  expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700);
  expect(await makeFolder(join(root, 'a/b/c'))).toBeUndefined();
  expect(await makeFolder(join(root, 'a/b/d/'))).toBe(join(root, 'a/b/d'));
  mkdirSync(join(root, 'real'));
  symlinkSync('real', join(root, 'link'));
  expect(await makeFolder(join(root, 'link'))).toBeUndefined();
  expect(await makeFolder(join(root, 'link/x'))).toBe(join(root, 'link/x'));
  expect(readdirSync(join(root, 'real'))).toEqual(['x']);
  writeFileSync(join(root, 'file'), '');
  await expect(makeFolder(join(root, 'file'))).rejects.toThrow('EEXIST');
  await expect(makeFolder(join(root, 'file/x'))).rejects.toThrow('ENOTDIR');
  symlinkSync('nowhere', join(root, 'dangling'));
  await expect(makeFolder(join(root, 'dangling'))).rejects.toThrow('EEXIST');
  await expect(makeFolder(join(root, 'dangling/x'))).rejects.toThrow('EEXIST');
  const made = await Promise.all(Array.from({ length: 20 }, () => makeFolder(join(root, 'p/q/r'))));
  expect(made.filter((one) => one === join(root, 'p'))).toHaveLength(1);
});

it('says that the folder is gone in which it was started', () => {
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" status --json';
  const bin = resolve('bin/crosstalk.js');
  const ran = spawnSync('sh', ['-c', script, process.execPath, bin], {
    cwd: scratch(),
    encoding: 'utf8',
    timeout: 200_000,
  });
  const message =
    'the folder in which it was started is gone; change into another one, such as: cd ~';
  expect([ran.status, ran.stderr]).toEqual([1, `crosstalk: ${message}\n`]);
  expect(JSON.parse(ran.stdout)).toEqual({ error: { code: 'not_found', command: '', message } });
});

it.skipIf(!existsSync('/dev/full'))(
  'output that cannot be written is a failure',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const bin = resolve('bin/crosstalk.js');
    for (const argv of ['--help', '--version', 'status --json']) {
      const script = `exec "$0" "$1" ${argv} > /dev/full`;
      const ran = spawnSync('sh', ['-c', script, process.execPath, bin], {
        cwd: host.dir,
        env: { ...process.env, ...host.env },
        encoding: 'utf8',
        timeout: 200_000,
      });
      expect([ran.status, ran.stderr]).toEqual([
        1,
        expect.stringContaining(
          'crosstalk: cannot write to stdout: ENOSPC: no space left on device',
        ),
      ]);
    }
  },
);

it.skipIf(!existsSync('/dev/full'))(
  'a log that cannot be written ends no dispatcher',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await host.send('worker', 'hello');
    const script = 'exec "$0" "$1" dispatch --once 2> /dev/full';
    const ran = spawnSync('sh', ['-c', script, process.execPath, resolve('bin/crosstalk.js')], {
      cwd: host.dir,
      env: { ...process.env, ...host.env },
      timeout: 200_000,
    });
    expect(ran.status).toBe(0);
    expect(host.bus.from('worker')).toHaveLength(1);
  },
);
