// @module-tag long
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

// The files of the user are those in HOME here.
delete process.env['GIT_CONFIG_GLOBAL'];
delete process.env['XDG_CONFIG_HOME'];

/** A machine whose git says each process that it starts, and a HOME of its own. */
async function machine(): Promise<{ host: Host; home: string; asked: () => number }> {
  const host = await new Bus().host('here', { worker: 'echo done' });
  const home = mkdtempSync(join(tmpdir(), 'home-'));
  const trace = mkdtempSync(join(tmpdir(), 'trace-'));
  Object.assign(host.env, { HOME: home, GIT_TRACE2_EVENT: trace });
  const asked = (): number =>
    readdirSync(trace).filter((name) =>
      /"argv":\[[^\]]*"config","--list"/.test(readFileSync(join(trace, name), 'utf8')),
    ).length;
  return { host, home, asked };
}

const listing = (host: Host): string => join(host.state, 'git-listing.json');

/** The sender of a message that names none, which git's configuration says. */
async function sender(host: Host): Promise<string> {
  await host.run('send', '--to', 'worker', '--new', '--', 'hello');
  return /^\+from: (.*)$/m.exec(git(host.bus.hub, 'show', 'main'))?.[1] ?? '';
}

/** Waits until a listing of how it is now is kept: not of files that were written only just now. */
async function settled(host: Host): Promise<void> {
  rmSync(listing(host), { force: true });
  await until('a listing that is kept', async () => {
    await host.run('log');
    return existsSync(listing(host));
  });
}

it('git is asked for its configuration once, and then no more', async () => {
  const { host, home, asked } = await machine();
  git(host.dir, 'config', '--file', join(home, '.gitconfig'), 'crosstalk.from', 'ada');
  // The first message sets up what the checkout shows, in the clone's configuration.
  await sender(host);
  await settled(host);
  const before = asked();
  expect(before).toBeGreaterThan(0);
  expect(await sender(host)).toBe('ada');
  expect(await sender(host)).toBe('ada');
  expect(asked()).toBe(before);
});

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
  [
    'a listing that holds something else',
    (host, home) => {
      writeFileSync(join(home, '.gitconfig'), '[crosstalk]\n\tfrom = grace\n');
      writeFileSync(listing(host), '{"version":1,"files":7}');
    },
  ],
  [
    'a folder in the place of the listing',
    (host, home) => {
      writeFileSync(join(home, '.gitconfig'), '[crosstalk]\n\tfrom = grace\n');
      rmSync(listing(host));
      mkdirSync(listing(host));
    },
  ],
];

it.each(WAYS)('after %s, the next command goes by it', async (_, change) => {
  const { host, home } = await machine();
  writeFileSync(join(home, '.gitconfig'), '[crosstalk]\n\tfrom = ada\n');
  await settled(host);
  expect(await sender(host)).toBe('ada');
  change(host, home);
  expect(await sender(host)).toBe('grace');
});

it('what files include is asked for each time, and no secret is kept', async () => {
  const { host, home } = await machine();
  const own = join(home, '.gitconfig');
  writeFileSync(
    own,
    '[http]\n\textraHeader = "Authorization: sesame"\n[crosstalk]\n\tfrom = ada\n',
  );
  await settled(host);
  expect(await sender(host)).toBe('ada');
  const kept = readFileSync(listing(host), 'utf8');
  expect(kept).toContain('ada');
  expect(kept).not.toContain('sesame');
  writeFileSync(join(home, 'more'), '[crosstalk]\n\tfrom = grace\n');
  writeFileSync(own, `[include]\n\tpath = more\n`);
  expect(await sender(host)).toBe('grace');
  writeFileSync(join(home, 'more'), '[crosstalk]\n\tfrom = edith\n');
  expect(await sender(host)).toBe('edith');
});
