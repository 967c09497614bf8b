import { join, basename, dirname } from 'node:path';
import { createHash } from 'node:crypto';
import { access, chmod, lstat, readdir, rename, type FileHandle } from 'node:fs/promises';
import { accountOf, type AgentAccount } from '../../agents/agents.ts';
import { modelHosts } from '../../agents/addresses.ts';
import { needsOf, USUAL_VARIABLES } from '../../agents/sandbox.ts';
import { reasonOf, hasCode } from '../../errors.ts';
import { plainFileAt } from '../../plain-file.ts';
import { allowedOf, openProxy } from '../../runner/sandbox/proxy.ts';
import {
  proxyVariables,
  wrapped,
  type Network,
  toBeMade,
} from '../../runner/sandbox/bubblewrap.ts';
import { mountsOf } from '../../runner/sandbox/mounts.ts';
import { callFilter } from '../../runner/sandbox/filter.ts';
import { real } from '../../runner/sandbox/system.ts';
import { keptFile, type Confinement, type Own } from './git-settings.ts';
import { unsafe, writtenBy, ownPlace } from './places.ts';
import { planOf } from './plan.ts';
import { checkProgram, notShown } from './program.ts';
import { inHome } from '../../agents/command-line.ts';
import { makeFolder } from '../../folder.ts';
import { folderBelow, folderIn, pathOf } from '../../state/place/below.ts';
import { bury } from '../../state/removal.ts';
import { GONE, removeRunDirectory, runDirectories } from '../../state/run-directory.ts';
import { lendLogin } from './lent-login.ts';

/** A command line in a sandbox: the words before it, and its variables. */
export interface Confined {
  wrap: readonly string[];
  env: NodeJS.ProcessEnv;
  /**
   * Returns the path that it hides of a program that was not found in it, by the output; undefined where it hides
   * none.
   */
  notShown: (said: string) => Promise<string | undefined>;
  /** Ends its way to the network and the files made for it, and examines the files it has left. */
  close: () => Promise<void>;
}

/** Prepares a sandbox for a command line (work.md, "Sandbox"). */
export async function confine(what: Confinement): Promise<Confined> {
  const { program, cwd, env, runDir, stateDir } = what;
  const home = await real(env['HOME'] ?? '/');
  const account = accountOf(what.command);
  const written = await writtenBy(what.tiers, home);
  const cli = await cliHome(what, account, home, written);
  try {
    const { view, lookAgain } = await planOf(what, home, cli.own, written);
    await checkProgram(view, what);
    // Nothing starts with an empty filter.
    const nests = account !== undefined && needsOf(account.agent)?.nests === true;
    const calls = await keptFile(
      stateDir,
      nests ? 'nesting-calls' : 'calls',
      callFilter(process.arch, { nests }) ?? '',
    );
    const mounts = mountsOf(view);
    if (mounts.length > MOST_WORDS || mounts.join().length > MOST_CHARACTERS)
      throw unsafe('it would need more mounts than can be made; name smaller folders in its tier');
    const made = await toBeMade(mounts).catch((error: unknown) => {
      throw unsafe(`what it shows was moved meanwhile: ${reasonOf(error)}; try again`);
    });
    const { network, close } = await networkOf(what, account, home, runDir);
    return {
      wrap: wrapped(program, { mounts, made }, cwd, network, calls),
      env: {
        ...kept(withoutGitConfig(env), [
          ...USUAL_VARIABLES,
          ...((account && needsOf(account.agent)?.env) ?? []),
          ...what.sandbox.env,
        ]),
        ...proxyVariables(network),
        CROSSTALK_SANDBOX: '1',
        TMPDIR: '/tmp',
      },
      notShown: (said) => notShown(view, said, what),
      close: () => close().finally(cli.close).finally(lookAgain),
    };
  } catch (error) {
    await cli.close();
    throw error;
  }
}

/** A settings file of this size is not read for the hosts it names. */
const MOST_SETTINGS = 256 * 1024;

async function networkOf(
  { sandbox, command, env, actor, log }: Confinement,
  account: AgentAccount | undefined,
  home: string,
  runDir: string | undefined,
): Promise<{ network: Network; close: () => Promise<void> }> {
  const close = (): Promise<void> => Promise.resolve();
  const { net } = sandbox;
  if (net.includes('all')) return { network: 'all', close };
  const hosts = net.filter((one) => one !== 'model' && one !== 'none');
  const needs = account && needsOf(account.agent);
  if (net.includes('model') && account !== undefined && needs !== undefined) {
    const placeOf = await placesOf(account, env, home);
    const read = (path: string): string => {
      const found = plainFileAt(path.startsWith('/') ? path : placeOf(path), MOST_SETTINGS);
      return found.kind === 'text' ? found.text : '';
    };
    hosts.push(...needs.hosts, ...modelHosts(account, command, env, read));
  }
  if (hosts.length === 0 || runDir === undefined) return { network: 'none', close };
  const socket = join(runDir, 'n');
  const told = new Set<string>();
  const proxy = await openProxy(socket, hosts.map(allowedOf), (host, port) => {
    const name = `${host}:${String(port)}`.slice(0, 260);
    if (told.has(name) || told.size >= MOST_TOLD) return;
    told.add(name);
    log('sandbox_refused', { actor, host: name });
  });
  return { network: { socket }, close: () => proxy.close() };
}

/** bubblewrap takes 9000 words, and the kernel 2 MiB of them, the environment included. */
const MOST_WORDS = 8000;
const MOST_CHARACTERS = 500_000;

/** Most hosts of one run that are reported. */
const MOST_TOLD = 20;

/**
 * Returns the variables by which this program configures git (`workplace.ts`), without those of the operator, such as
 * a token.
 */
function withoutGitConfig(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const given = /^GIT_CONFIG_(?:COUNT|PARAMETERS|GLOBAL|KEY_\d+|VALUE_\d+)$/;
  const rest = Object.entries(env).filter(([name]) => !given.test(name));
  const [key, value] = ['safe.bareRepository', 'explicit'];
  const isGuarded = Object.values(env).includes(key);
  return {
    ...Object.fromEntries(rest),
    ...(isGuarded && {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: key,
      GIT_CONFIG_VALUE_0: value,
    }),
  };
}

/** Returns the variables that fit one of some patterns: a name, or the beginning of names and `*`. */
function kept(env: NodeJS.ProcessEnv, patterns: readonly string[]): NodeJS.ProcessEnv {
  const fits = (name: string): boolean =>
    patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
  return Object.fromEntries(Object.entries(env).filter(([name]) => fits(name)));
}

/*
 * The folders of a CLI in a sandbox, `<state>/sandbox/.homes/<run>`, are made for one run: in them are the operator's
 * settings, which it cannot change, a copy of the login, and the session that it goes on with. When it has ended, the
 * files of its session are moved to `<state>/sandbox/.sessions/<key>`, and the rest is removed. So no file that a run
 * writes, under any name, is there when a CLI starts again.
 */

/** The folders of a CLI in a sandbox. */
export interface CliHome {
  own: Own;
  /** Takes back the files of the session and the login, and removes the rest. */
  close: () => Promise<void>;
}

/** Milliseconds for which the files of a session are stored after its last run, as its workspace is. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Bytes; a longer file of a session is not stored. */
const LONGEST = 256 * 1024 * 1024;
/** Most files of a session that are stored. */
const MOST_FILES = 5000;

/** Makes the folders of a CLI for a run. */
export async function cliHome(
  { stateDir, runDir, session, env, log, actor, now }: Confinement,
  account: AgentAccount | undefined,
  home: string,
  written: readonly string[],
): Promise<CliHome> {
  const needs = account && needsOf(account.agent);
  if (account === undefined || needs === undefined || runDir === undefined)
    return { own: [], close: () => Promise.resolve() };
  const [homes, sessions] = ['.homes', '.sessions'].map((name) =>
    join(stateDir, 'sandbox', name),
  ) as [string, string];
  const dir = join(homes, basename(runDir));
  await removeStale(homes, dirname(runDir), dir);
  await makeFolder(homes, 0o700);
  const kept = session && join(sessions, digestOf(session.key));
  if (kept !== undefined) {
    await removeOld(sessions, now().getTime() - KEPT_MS);
    if (session?.goesOn === true) await rename(kept, dir).catch(ifThere);
    else await removeRunDirectory(kept);
  }
  const placeOf = await placesOf(account, env, home);
  const own: Own[number][] = [];
  for (const path of needs.folders) {
    await makeFolder(join(dir, path), 0o700);
    own.push({ path: placeOf(path), from: join(dir, path), writable: true });
  }
  for (const path of needs.settings) {
    const from = await ownPlace(placeOf(path), written);
    if (from !== undefined) own.push({ path: placeOf(path), from, writable: false });
  }
  const lent = await lendLogin(await real(placeOf(needs.login.file)), {
    ...{ dir, login: needs.login, now },
    failed: (reason) => {
      log('internal_error', { actor, error: `the login of ${account.id}: ${reason}` });
    },
  });
  return {
    own,
    close: async () => {
      await lent.close();
      if (kept !== undefined) await keep(dir, needs.sessions, kept).catch(() => undefined);
      await removeRunDirectory(dir);
    },
  };
}

/** Returns the paths of an account's files that are in other folders for a login of another name. */
async function placesOf(
  { agent, folder: named }: AgentAccount,
  env: NodeJS.ProcessEnv,
  home: string,
): Promise<(path: string) => string> {
  const { variable, folder } = agent.account;
  const set = named ?? (variable === undefined ? undefined : env[variable]);
  const prefix = folder === '' ? '' : `${folder}/`;
  const root = set === undefined || set === '' ? undefined : await real(inHome(set, home));
  return (path) => {
    if (root === undefined) return `${home}/${path}`;
    if (path === folder) return root;
    return path.startsWith(prefix) ? `${root}/${path.slice(prefix.length)}` : `${home}/${path}`;
  };
}

/** Removes the folders of runs that have ended without us. */
async function removeStale(homes: string, runs: string, mine: string): Promise<void> {
  for (const path of await runDirectories(homes)) {
    const name = basename(path, GONE);
    const isUnderWay = await access(join(runs, name)).then(
      () => join(homes, name) !== mine,
      () => false,
    );
    if (!isUnderWay) await removeRunDirectory(path);
  }
}

async function removeOld(sessions: string, edge: number): Promise<void> {
  for (const path of await runDirectories(sessions)) {
    const found = await lstat(path).catch(() => undefined);
    if (path.endsWith(GONE) || (found !== undefined && found.mtimeMs < edge))
      await removeRunDirectory(path);
  }
}

/** Moves the files of a session out of the folders of its run. */
async function keep(dir: string, patterns: readonly string[], kept: string): Promise<void> {
  await removeRunDirectory(kept);
  await makeFolder(kept, 0o700);
  let left = MOST_FILES;
  for (const pattern of patterns) {
    const names = pattern.split('/');
    const fixed = names.findIndex((name) => name.includes('*'));
    const above = names.slice(0, fixed);
    const folder = await folderBelow(dir, above);
    if (folder !== undefined) await take(folder, names.slice(fixed), join(kept, ...above));
  }

  async function take(from: FileHandle, names: readonly string[], to: string): Promise<void> {
    try {
      const [name = '', ...rest] = names;
      for (const found of (await readdir(pathOf(from))).filter((one) => fits(one, name))) {
        if (rest.length > 0) {
          const inner = await folderIn(from, found);
          if (inner !== undefined) await take(inner, rest, join(to, found));
        } else if (left-- > 0) await takeFile(join(pathOf(from), found), to, `${dir}${GONE}`);
      }
    } finally {
      await from.close();
    }
  }
}

/**
 * Moves a plain file, and nothing else under its name. Its kind is certain only where no run can reach it, so it
 * passes through the graveyard, where anything that is not a file stays.
 */
async function takeFile(path: string, folder: string, graveyard: string): Promise<void> {
  const grave = await bury(path, graveyard);
  const found = grave === undefined ? undefined : await lstat(grave);
  if (grave === undefined || found?.isFile() !== true || found.size > LONGEST) return;
  await chmod(grave, 0o600);
  await makeFolder(folder, 0o700);
  await rename(grave, join(folder, basename(path)));
}

function fits(name: string, pattern: string): boolean {
  const [before = '', after] = pattern.split('*');
  if (after === undefined) return name === pattern;
  return name.length >= pattern.length - 1 && name.startsWith(before) && name.endsWith(after);
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 40);
}

function ifThere(error: unknown): void {
  if (!hasCode(error, 'ENOENT')) throw error;
}
