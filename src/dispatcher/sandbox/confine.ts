import { join } from 'node:path';
import { accountOf, type AgentAccount } from '../../agents/account.ts';
import { modelHosts } from '../../agents/addresses.ts';
import { needsOf, USUAL_VARIABLES } from '../../agents/sandbox.ts';
import { reasonOf } from '../../errors.ts';
import { plainFileAt } from '../../plain-file.ts';
import { allowedOf } from '../../runner/sandbox/allowed.ts';
import { proxyVariables, wrapped, type Network } from '../../runner/sandbox/bubblewrap.ts';
import { toBeMade } from '../../runner/sandbox/made.ts';
import { mountsOf } from '../../runner/sandbox/mounts.ts';
import { callFilter } from '../../runner/sandbox/filter.ts';
import { openProxy } from '../../runner/sandbox/proxy.ts';
import { real } from '../../runner/sandbox/system.ts';
import { keptFile } from './git-settings.ts';
import { cliHome, placesOf } from './cli-home.ts';
import { unsafe, writtenBy } from './places.ts';
import { planOf } from './plan.ts';
import { checkProgram, notShown } from './program.ts';
import type { Confinement } from './view.ts';

/** A command line in a sandbox: the words before it, and its variables. */
export interface Confined {
  wrap: readonly string[];
  env: NodeJS.ProcessEnv;
  /** What it hides of a program that was not found in it, by what was printed; undefined where it hides none. */
  notShown: (said: string) => Promise<string | undefined>;
  /** Ends its way to the network and what was made for it, and looks at what it has left. */
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
    // Nothing begins with a filter that is empty.
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

/** More hosts of one run are not told of. */
const MOST_TOLD = 20;

/** What this program tells git by variables (`workplace.ts`), without what the operator does, such as a token. */
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

/** The variables that fit one of some patterns: a name, or the beginning of names and `*`. */
function kept(env: NodeJS.ProcessEnv, patterns: readonly string[]): NodeJS.ProcessEnv {
  const fits = (name: string): boolean =>
    patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
  return Object.fromEntries(Object.entries(env).filter(([name]) => fits(name)));
}
