import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { withContext, type Context } from '../../src/actions/context.ts';
import { stopService, uninstallService, install } from '../../src/actions/service/control.ts';
import { thisMachine, type Machine } from '../../src/actions/service/machine.ts';
import { planInstall, type InstallInput } from '../../src/actions/service/plan.ts';
import { serviceStatus } from '../../src/actions/service/status.ts';
import type { RunResult } from '../../src/service/run.ts';
import { acquire } from '../../src/state/lock.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';

const PONG = 'cat > /dev/null; echo pong';
const OK: RunResult = { code: 0, stdout: '', stderr: '' };
const NO: RunResult = { code: 1, stdout: '', stderr: 'no such service' };

/** Does something with a host's transport, in the same way as a command would. */
function inside<T>(
  host: Host,
  env: NodeJS.ProcessEnv,
  work: (c: Context) => Promise<T>,
): Promise<T> {
  const surroundings = { env: { ...process.env, ...host.env, ...env }, cwd: host.dir };
  return withContext(surroundings, { note: () => undefined, transport: host.dir }, work);
}

/** A machine whose service manager is a function; everything else is real. */
async function machine(
  facts: Partial<Machine>,
  manager: (words: string[]) => RunResult,
): Promise<{ machine: Machine; asked: string[] }> {
  const real = await thisMachine(process.env);
  const asked: string[] = [];
  const run: Machine['run'] = async ([program = '', ...words], options) => {
    if (!program.endsWith('ctl')) return real.run([program, ...words], options);
    asked.push([program, ...words].join(' '));
    return manager([program, ...words]);
  };
  return { machine: { ...real, ...facts, run }, asked };
}

async function installed(context: Context, at: Machine, input: InstallInput): Promise<string> {
  const plan = await planInstall(context, at, input);
  if (plan.kind !== 'service') throw new Error(plan.advice);
  return (await install(context, at, input, plan)).file;
}

it('on a Mac an agent of the user is begun once the one before it is gone, asked about, and ended', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const home = scratch();
  let loaded = true;
  let ending = 0;
  const { machine: mac, asked } = await machine({ platform: 'darwin', uid: 501 }, (words) => {
    if (words[1] === 'bootout') ending = 3;
    if (words[1] === 'bootstrap') loaded = true;
    // It continues for a while after it was asked to end.
    if (ending > 0 && --ending === 0) loaded = false;
    if (words[1] !== 'print') return OK;
    return loaded ? { ...OK, stdout: `\tpid = ${String(process.pid)}\n\truns = 1\n` } : NO;
  });
  await inside(host, { HOME: home, SSH_CONNECTION: '10.0.0.1' }, async (context) => {
    const lock = await acquire(context.paths.root, 'dispatcher', { wait: 0 });
    const file = await installed(context, mac, { host: 'front', names: [], start: true });
    expect(file).toMatch(new RegExp(`^${home}/Library/LaunchAgents/crosstalk-front-\\w+\\.plist$`));
    const name = file.split('/').at(-1)?.replace('.plist', '') ?? '';
    const begun = asked.indexOf(`launchctl bootstrap user/501 ${file}`);
    expect(asked.slice(0, begun)).toEqual(
      expect.arrayContaining([`launchctl bootout user/501/${name}`]),
    );
    // Over ssh there is no graphical session, and so no gui/501.
    expect(asked.join('\n')).not.toContain('gui/501');
    const status = await serviceStatus(context, mac);
    expect(status).toMatchObject({ kind: 'launchd', state: 'running', pid: process.pid });
    await stopService(context, mac);
    expect(await serviceStatus(context, mac)).toMatchObject({ state: 'stopped' });
    const gone = await uninstallService(context, mac);
    expect([existsSync(file), gone.kept]).toEqual([false, host.state]);
    if (lock.ok) await lock.release();
  });
});

it('a unit of the system runs agents as the user they belong to, never as root', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const systemUnits = join(scratch(), 'units');
  mkdirSync(systemUnits);
  const { machine: linux, asked } = await machine({ platform: 'linux', systemUnits }, (words) => ({
    ...OK,
    stdout: words.includes('--property=Version') ? 'Version=255.4\n' : 'ActiveState=inactive\n',
  }));
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  const input = { host: 'front', names: [], start: false, system: { user: 'anna', uid, gid } };
  await inside(host, {}, async (context) => {
    const file = await installed(context, linux, input);
    const unit = readFileSync(file, 'utf8');
    expect(unit).toMatch(/^User=anna$/m);
    expect(unit).toMatch(/^WantedBy=multi-user\.target$/m);
    expect(unit).toMatch(/^RestartSteps=6$/m);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(asked.at(-1)).toBe(`systemctl enable ${file.split('/').at(-1) ?? ''}`);
    expect((await serviceStatus(context, linux)).user).toBe('anna');
  });
  for (const user of ['root', 'no such user', '0'])
    expect(
      (await host.run('service', 'install', '--system', '--user', user, '--host', 'front')).code,
    ).toBe(2);
});

it('a service manager’s refusal is told with its own words and what to do about it', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const env = { HOME: scratch() };
  const { machine: linux } = await machine({ platform: 'linux', uid: 1000 }, (words) =>
    words.includes('--property=Version')
      ? { ...OK, stdout: 'Version=252\n' }
      : { ...NO, stderr: 'Failed to connect to bus: No medium found\n' },
  );
  const input = { host: 'front', names: [], start: true };
  await inside(host, env, async (context) => {
    await expect(installed(context, linux, input)).rejects.toThrow(
      'systemctl --user daemon-reload: Failed to connect to bus: No medium found; your session has no service manager of its own',
    );
  });
});
