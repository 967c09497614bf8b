import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import {
  binFolder,
  cacheFolder,
  REAL_ADAPTERS,
  realCli,
  REAL_CLIS,
  type RealAdapter,
  type RealCli,
} from './clis.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder in which the CLIs are installed, and the names of those under test. */
    agents: { cache: string; names: string[] };
  }
}

const INSTALL_MS = 5 * 60_000;
const VERSION_MS = 60_000;

/** Before any test: installs the CLIs that `CROSSTALK_TEST_AGENTS` names (default: all). */
export default async function prepare(project: TestProject): Promise<void> {
  const asked = (process.env['CROSSTALK_TEST_AGENTS'] ?? '').split(',').filter(Boolean);
  const clis = asked.length === 0 ? REAL_CLIS : asked.map(realCli);
  const cache = cacheFolder();
  const adapters = clis.flatMap(({ name }) => REAL_ADAPTERS[name] ?? []);
  await Promise.all([...clis, ...adapters].map((cli) => install(cli, cache)));
  project.provide('agents', { cache, names: clis.map(({ name, folder }) => folder ?? name) });
}

/**
 * Installs a CLI from the npm registry into its own folder, unless this version already exists. The
 * folder appears completely or not at all, so simultaneous runs do not disturb each other.
 *
 * @throws Error in one line when npm cannot deliver it
 */
export async function install(cli: RealCli | RealAdapter, cache = cacheFolder()): Promise<void> {
  const place = join(binFolder(cli, cache), '..', '..');
  if (isInstalled(cli, place)) return;
  await mkdir(cache, { recursive: true });
  const fresh = await mkdtemp(join(cache, `.${cli.name}-`));
  try {
    const beside = 'beside' in cli ? cli.beside : {};
    const dependencies = { [cli.package]: cli.version, ...beside };
    const wanted = { private: true, dependencies };
    await writeFile(join(fresh, 'package.json'), JSON.stringify(wanted));
    const problem = (await npmInstall(fresh)) ?? (await cannotRun(cli, fresh));
    if (problem !== undefined)
      throw new Error(
        `cannot install ${cli.package}@${cli.version} from the npm registry into ${place}: ${problem}; is the registry reachable?`,
      );
    await put(fresh, place, cli);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

function isInstalled(cli: RealCli | RealAdapter, place: string): boolean {
  const manifest = join(place, 'node_modules', cli.package, 'package.json');
  if (!existsSync(manifest) || !existsSync(join(place, 'node_modules', '.bin', cli.name)))
    return false;
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  return version === cli.version;
}

/** Moves a complete folder into its place; another run may have been faster. */
async function put(fresh: string, place: string, cli: RealCli | RealAdapter): Promise<void> {
  if (existsSync(place) && !isInstalled(cli, place)) await rm(place, { recursive: true });
  await rename(fresh, place).catch((error: unknown) => {
    if (!isInstalled(cli, place)) throw error;
  });
}

/** @returns why it failed, in one line; undefined when it succeeded */
async function npmInstall(folder: string): Promise<string | undefined> {
  const env = { ...process.env };
  // `npm run` tells its children where its own package is, but this one is in another place.
  delete env['npm_config_local_prefix'];
  const flags = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, said } = await bounded(['npm', 'install', ...flags], folder, env, INSTALL_MS);
  if (code === 0) return undefined;
  const lines = said.split('\n').filter((line) => /^npm (error|ERR!)/.test(line));
  return `npm ended with ${String(code)}: ${lines.slice(0, 3).join(' ')}`;
}

/** Platform packages are optional: npm succeeds even without the program itself. */
async function cannotRun(cli: RealCli | RealAdapter, folder: string): Promise<string | undefined> {
  const program = join(folder, 'node_modules', '.bin', cli.name);
  if (!existsSync(program)) return 'npm left no executable';
  // A Node.js that lies beside an adapter is the one that it needs.
  const bins = join(folder, 'node_modules', '.bin');
  const env = { PATH: `${bins}:${process.env['PATH'] ?? ''}`, HOME: folder };
  const { code, said } = await bounded([program, '--version'], folder, env, VERSION_MS);
  const last = said.trim().split('\n').at(-1) ?? '';
  return code === 0 ? undefined : `${cli.name} --version ended with ${String(code)}: ${last}`;
}

/** Runs a program until it ends, or ends its group; an exit code of null means that, or a signal. */
async function bounded(
  [program = '', ...args]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  limit: number,
): Promise<{ code: number | null; said: string }> {
  const child = spawn(program, args, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const timer = setTimeout(() => {
    said += `\nnpm error not done within ${String(limit / 1000)} s`;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limit);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return { code, said };
}
