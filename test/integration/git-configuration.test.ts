// @module-tag long
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

// The files of the user are those in HOME here.
delete process.env['GIT_CONFIG_GLOBAL'];
delete process.env['XDG_CONFIG_HOME'];

/** A machine with a HOME of its own. */
async function machine(): Promise<{ host: Host; home: string }> {
  const host = await new Bus().host('here', { worker: 'echo done' });
  const home = mkdtempSync(join(tmpdir(), 'home-'));
  host.env['HOME'] = home;
  return { host, home };
}

/** The sender of a message that names none, which git's configuration says. */
async function sender(host: Host): Promise<string> {
  await host.run('send', '--to', 'worker', '--new', '--', 'hello');
  return /^\+from: (.*)$/m.exec(git(host.bus.hub, 'show', 'main'))?.[1] ?? '';
}

const WAYS: [string, (host: Host, home: string) => void][] = [
  [
    'a setting of the user that is written',
    (_, home) => {
      writeFileSync(join(home, '.gitconfig'), '[crosstalk]\n\tfrom = grace\n');
    },
  ],
  [
    'a file of the user in the other place',
    (_, home) => {
      rmSync(join(home, '.gitconfig'));
      mkdirSync(join(home, '.config/git'), { recursive: true });
      writeFileSync(join(home, '.config/git/config'), '[crosstalk]\n\tfrom = grace\n');
    },
  ],
  [
    'a folder for settings that is named',
    (host, home) => {
      rmSync(join(home, '.gitconfig'));
      mkdirSync(join(home, 'other/git'), { recursive: true });
      writeFileSync(join(home, 'other/git/config'), '[crosstalk]\n\tfrom = grace\n');
      host.env['XDG_CONFIG_HOME'] = join(home, 'other');
    },
  ],
  [
    'a file of the user that is named',
    (host, home) => {
      writeFileSync(join(home, 'named'), '[crosstalk]\n\tfrom = grace\n');
      host.env['GIT_CONFIG_GLOBAL'] = join(home, 'named');
    },
  ],
  [
    'a file for the system that is named',
    (host, home) => {
      rmSync(join(home, '.gitconfig'));
      writeFileSync(join(home, 'system'), '[crosstalk]\n\tfrom = grace\n');
      Object.assign(host.env, {
        GIT_CONFIG_SYSTEM: join(home, 'system'),
        GIT_CONFIG_NOSYSTEM: '0',
      });
    },
  ],
  [
    'another HOME',
    (host, home) => {
      mkdirSync(join(home, 'moved'));
      writeFileSync(join(home, 'moved/.gitconfig'), '[crosstalk]\n\tfrom = grace\n');
      host.env['HOME'] = join(home, 'moved');
    },
  ],
  [
    'a setting in a variable',
    (host) => {
      Object.assign(host.env, {
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'crosstalk.from',
        GIT_CONFIG_VALUE_0: 'grace',
      });
    },
  ],
  [
    'a setting of the clone',
    (host) => {
      git(host.dir, 'config', 'crosstalk.from', 'grace');
    },
  ],
];

it.each(WAYS)('after %s, the next command goes by it', async (_, change) => {
  const { host, home } = await machine();
  writeFileSync(join(home, '.gitconfig'), '[crosstalk]\n\tfrom = ada\n');
  expect(await sender(host)).toBe('ada');
  change(host, home);
  expect(await sender(host)).toBe('grace');
});

it('what files include counts at once', async () => {
  const { host, home } = await machine();
  writeFileSync(join(home, 'more'), '[crosstalk]\n\tfrom = grace\n');
  writeFileSync(join(home, '.gitconfig'), `[include]\n\tpath = more\n`);
  expect(await sender(host)).toBe('grace');
  writeFileSync(join(home, 'more'), '[crosstalk]\n\tfrom = edith\n');
  expect(await sender(host)).toBe('edith');
});
