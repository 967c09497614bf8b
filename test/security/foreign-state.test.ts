import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stateHome } from '../../src/state/directory.ts';
import { Bus, type Host } from '../support/bus.ts';
import { asOther, noOtherUser } from '../support/other-user.ts';

// trust.md §5: what another user of this machine may have made is not used as the state.

const OTHER = 65_534;
/** Commands that read, send, run what was approved, serve, and look for what is wrong. */
const COMMANDS = [
  ['status'],
  ['send', '--to', 'worker', 'hello'],
  ['open', '--actor', 'worker'],
  ['host', 'approve'],
  ['dispatch', '--once', '--host', 'front'],
  ['doctor'],
];

/** A folder that every user may write to. */
function sharedPlace(): string {
  const place = mkdtempSync('/tmp/crosstalk-shared-');
  chmodSync(place, 0o1777);
  onTestFinished(() => {
    rmSync(place, { recursive: true, force: true });
  });
  return place;
}

/** Every command ends with one line that names `foreign`, and nothing new is below `place`. */
async function isRefused(
  host: Host,
  env: Record<string, string>,
  place: string,
  foreign: string,
): Promise<void> {
  const before = readdirSync(place, { recursive: true });
  for (const argv of COMMANDS) {
    const ran = await host.runWith({ env }, ...argv);
    expect([argv, ran.code, ran.out]).toEqual([argv, 1, '']);
    expect(ran.err).toMatch(/^crosstalk [a-z ]+: .*\n$/);
    expect(ran.err).toContain(`${foreign} belongs to the user ${String(OTHER)}, not to you (user `);
    expect(ran.err).toContain(`: name a folder of your own with ${Object.keys(env).at(-1)!}`);
  }
  expect(readdirSync(place, { recursive: true })).toEqual(before);
}

describe.skipIf(noOtherUser !== '')(`a state that another user controls${noOtherUser}`, () => {
  it('is used by no command if another user made the directory before', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const place = sharedPlace();
    const state = join(place, 'state');
    asOther(`umask 0; mkdir ${state}; echo '{}' > ${state}/approvals.json`);
    await isRefused(host, { CROSSTALK_STATE_DIR: state }, place, `the state directory ${state}`);
    for (const path of [state, join(state, 'approvals.json')]) chownSync(path, 0, 0);
    expect((await host.runWith({ env: { CROSSTALK_STATE_DIR: state } }, 'status')).out).not.toBe(
      '',
    );
  });

  it('is used by no command if the folder around it is another user’s, whoever made the directory', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const place = sharedPlace();
    asOther(`mkdir ${place}/theirs`);
    const state = join(place, 'theirs', 'state');
    const env = { CROSSTALK_STATE_DIR: state };
    const foreign = `the folder ${join(place, 'theirs')} of the state directory ${state}`;
    await isRefused(host, env, place, foreign);
    mkdirSync(state, { mode: 0o700 });
    await isRefused(host, env, place, foreign);
  });

  it('is used by no command if another user made the folder of all states before, or the one around it', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const place = sharedPlace();
    asOther(`umask 0; mkdir ${place}/crosstalk ${place}/theirs`);
    const of = 'the folder of the state directories';
    const env = (home: string): Record<string, string> => ({
      CROSSTALK_STATE_DIR: '',
      XDG_STATE_HOME: home,
    });
    await isRefused(host, env(place), place, `${of} ${place}/crosstalk`);
    const theirs = join(place, 'theirs');
    await isRefused(host, env(theirs), place, `the folder ${theirs} of ${of} ${theirs}/crosstalk`);
  });

  it.each([
    ['approvals', "echo '{}' > approvals.json", 'approvals.json'],
    ['a git directory', 'mkdir git', 'git'],
    ['a folder that leads elsewhere', 'ln -s ../precious bin', 'bin'],
    ['a record in a folder that was open', 'echo > outbox/a.json', 'outbox/a.json'],
    ['a database', 'echo > state.db', 'state.db'],
    ['what a database has yet to take up', 'echo > state.db-wal', 'state.db-wal'],
    ['a folder in the place of a database', 'mkdir state.db', 'state.db'],
    ['a file in the place of a folder', 'echo > outbox/files', 'outbox/files'],
    ['something under a name that nobody knows', 'mkdir of-tomorrow', 'of-tomorrow'],
  ])('is used by no command if another user has put %s into it', async (_what, script, name) => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const place = sharedPlace();
    const state = join(place, 'state');
    mkdirSync(join(state, 'outbox'), { recursive: true });
    mkdirSync(join(place, 'precious'));
    writeFileSync(join(place, 'precious', 'report.4100001.1.tmp'), 'important');
    writeFileSync(join(state, 'of somebody else'), '');
    for (const folder of [state, join(state, 'outbox')]) chmodSync(folder, 0o777);
    asOther(`cd ${state}; ${script}`);
    const env = { CROSSTALK_STATE_DIR: state };
    await isRefused(host, env, place, `${join(state, name)} in the state directory ${state}`);
  });

  it('is used by no command if one’s own symlink leads to one that is open, and another user has put something there', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const place = sharedPlace();
    const real = join(place, 'real');
    mkdirSync(real);
    chmodSync(real, 0o777);
    const state = join(place, 'state');
    symlinkSync(real, state);
    asOther(`cd ${real}; echo '{}' > approvals.json`);
    const env = { CROSSTALK_STATE_DIR: state };
    await isRefused(
      host,
      env,
      place,
      `${join(real, 'approvals.json')} in the state directory ${real}`,
    );
    rmSync(join(real, 'approvals.json'));
    expect((await host.runWith({ env }, 'status')).out).not.toBe('');
    expect(statSync(real).mode & 0o077).toBe(0);
  });

  it('is used by no command if a symlink of another user leads there', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const place = sharedPlace();
    const state = join(place, 'state');
    mkdirSync(join(place, 'real'), { mode: 0o700 });
    asOther(`ln -s ${place}/real ${state}`);
    const env = { CROSSTALK_STATE_DIR: state };
    await isRefused(host, env, place, `the state directory ${state}`);
    rmSync(state);
    symlinkSync(join(place, 'real'), state);
    expect((await host.runWith({ env }, 'status')).out).not.toBe('');
  });
});

it('a home that is empty or relative is none, so that no state is made below the working directory', async () => {
  const own = join(userInfo().homedir, '.local', 'state', 'crosstalk');
  const given = process.env['HOME'];
  onTestFinished(() => {
    process.env['HOME'] = given;
  });
  for (const odd of ['', 'relative', './here']) {
    process.env['HOME'] = odd;
    expect(stateHome({ HOME: odd, XDG_STATE_HOME: odd })).toBe(own);
    expect(stateHome({ HOME: '/home/a', XDG_STATE_HOME: odd })).toBe(
      '/home/a/.local/state/crosstalk',
    );
    expect(stateHome({ HOME: odd, XDG_STATE_HOME: '/state' })).toBe('/state/crosstalk');
  }
});
