// Lets the built program send a message and say how it stands, on a transport of its own, so that the code
// cache which the first runs leave holds what a command needs (docs/decisions/28-starting.md).
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Fills the cache as far as this machine can: without git, commands start a little later. */
export function fillCache() {
  const home = mkdtempSync(join(tmpdir(), 'crosstalk-build-'));
  try {
    const [hub, transport] = [join(home, 'hub.git'), join(home, 'transport')];
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      XDG_STATE_HOME: join(home, 'state'),
      GIT_CONFIG_NOSYSTEM: '1',
    };
    const run = (command, ...args) =>
      spawnSync(command, args, { env, stdio: 'ignore', timeout: 30_000 });
    const crosstalk = (...args) => run(process.execPath, 'bin/crosstalk.js', ...args);
    mkdirSync(hub);
    run('git', 'init', '--quiet', '--bare', hub);
    crosstalk(
      'init',
      transport,
      '--remote',
      hub,
      '--alias',
      'here',
      '--from',
      'me',
      '--cli',
      'true',
    );
    // It is run once on a machine, so its code is left in the part of the program that sending does not read.
    for (const name of readdirSync('dist').filter((one) =>
      /^(main|core)\.cjs\..*\.cache$/.test(one),
    ))
      rmSync(join('dist', name));
    crosstalk('send', '--transport', transport, '--to', 'concierge', 'hello');
    crosstalk('status', '--transport', transport);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
