import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { scratch, type Bus, type Host } from './bus.ts';
import { git } from './git.ts';
import type { Ran } from './command.ts';
import { until } from './wait.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** A service manager, and a way to run commands next to it. */
export interface World {
  env: NodeJS.ProcessEnv;
  /** Runs a program there, with an empty stdin. */
  run: (argv: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Ran>;
}

/** Runs a program to its end. */
export function exec(argv: readonly string[], env: NodeJS.ProcessEnv, cwd = '/'): Promise<Ran> {
  const [program = '', ...args] = argv;
  return new Promise((resolve) => {
    const child = execFile(program, args, { env, cwd, timeout: 200_000 }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, out, err: code === -1 ? `${err}${error?.message ?? ''}` : err });
    });
    child.stdin?.end();
  });
}

/** A machine whose systemctl is the fake of test/fixtures/service; removed at the end of the test. */
export function standIn(): World {
  const root = scratch();
  const bin = join(root, 'bin');
  const runtime = join(root, 'runtime');
  for (const folder of [bin, runtime]) mkdirSync(folder);
  const script = join(repository, 'test/fixtures/service/systemctl.js');
  put(bin, 'systemctl', `exec '${process.execPath}' '${script}' "$@"`);
  put(bin, 'loginctl', 'echo Linger=no');
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    XDG_RUNTIME_DIR: runtime,
    XDG_CONFIG_HOME: join(root, 'config'),
  };
  onTestFinished(async () => {
    for (const name of readdirSync(runtime).filter((one) => one.endsWith('.service.json')))
      await exec([join(bin, 'systemctl'), 'stop', name.slice(0, -'.json'.length)], env);
  });
  return { env, run: (argv, more = {}) => exec(argv, { ...env, ...more }) };
}

/** Creates a program from a line of shell. */
export function put(folder: string, name: string, line: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** This package, installed in a separate place, where another version can replace it. */
export function copyOfPackage(): {
  bin: string;
  main: string;
  release: (version: string) => void;
} {
  const root = join(scratch(), 'crosstalk');
  for (const name of ['bin', 'dist', 'package.json', 'template'])
    cpSync(join(repository, name), join(root, name), { recursive: true });
  const modules = join(repository, 'node_modules');
  if (existsSync(modules)) symlinkSync(modules, join(root, 'node_modules'));
  for (const name of readdirSync(join(root, 'dist')).filter((one) => one.endsWith('.cache')))
    rmSync(join(root, 'dist', name));
  return {
    bin: join(root, 'bin', 'crosstalk.js'),
    main: join(root, 'dist', 'main.cjs'),
    release: (version) => {
      const path = join(root, 'package.json');
      const manifest = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
      writeFileSync(path, JSON.stringify({ ...manifest, version }));
    },
  };
}

interface Status {
  state: string;
  pid: number | null;
  restarts: number;
  last_end: { how: string } | null;
  version: { running: string | null };
}

/**
 * The life of a service from its installation to its end, as an operator sees it: every assertion
 * is about the output of a command that runs next to the service manager.
 */
export async function lifeOfAService(world: World, bus: Bus, host: Host): Promise<void> {
  const { bin, release } = copyOfPackage();
  const ct = (...argv: string[]): Promise<Ran> =>
    world.run([process.execPath, bin, ...argv, '--transport', host.dir], host.env);
  const done = async (...argv: string[]): Promise<Ran> => {
    const ran = await ct(...argv);
    if (ran.code !== 0) throw new Error(`${argv.join(' ')}: ${ran.out}${ran.err}`);
    return ran;
  };
  const serving = (what: string, holds: (status: Status) => boolean): Promise<Status> =>
    until(`a service ${what}`, async () => {
      // It does not have to wait for its next poll.
      await ct('wake');
      const status = JSON.parse((await ct('service', 'status', '--json')).out) as Status;
      return status.version.running !== null && holds(status) && status;
    });
  const answered = async (): Promise<string> => {
    const { out } = await done('send', '--to', 'worker', '--from', 'anna', 'ping');
    const relPath = /^Sent: (.+)$/m.exec(out)?.[1] ?? '';
    return (await done('replies', '--wait', '--timeout', '100', relPath)).out;
  };

  const installed = await done('service', 'install', '--host', host.alias, '--yes');
  expect(installed.out).toMatch(/^Installed: crosstalk-\S+, process \d+$/m);
  const first = await serving('that was installed', () => true);
  expect(await answered()).toContain('pong');

  await world.run(['/bin/sh', '-c', 'kill -9 "$0"', String(first.pid)]);
  const second = await serving('that was started again', ({ pid }) => pid !== first.pid);
  expect([second.restarts, second.last_end?.how]).toEqual([1, 'crashed']);
  expect(await answered()).toContain('pong');

  release('6.0.999');
  const third = await serving('of the new version', ({ version }) => version.running === '6.0.999');
  expect(third.last_end?.how).toBe('replaced');
  expect(await answered()).toContain('pong');
  const still = await serving('that goes on', () => true);
  expect([still.pid, still.restarts]).toEqual([third.pid, 2]);
  expect((await done('service', 'status')).out).toMatch(/^running\n/);
  expect((await done('logs')).out).toMatch(/makes room for version 6\.0\.999\n.*serving/);

  expect((await done('service', 'stop')).out).toMatch(/^Stopped: /);
  const stopped = await ct('service', 'status');
  expect([stopped.code, stopped.out.split('\n')[0]]).toEqual([1, 'stopped']);
  await done('send', '--to', 'worker', '--from', 'anna', 'later');
  expect((await done('service', 'start')).out).toMatch(/^Started: /);
  await until('the answer to what was sent meanwhile', () => bus.from('worker').length === 4);

  const gone = await done('service', 'uninstall');
  expect(gone.out).toContain(`stay in ${host.state}`);
  expect((await ct('service', 'status')).err).toContain('no service is installed');
  expect(git(bus.hub, 'log', '--oneline', 'main')).toContain('worker');
  expect((await done('logs', '--limit', '1')).out).toContain('dispatcher stopped');
}
