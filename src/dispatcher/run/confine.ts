import { readFile, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { accountOf, type AgentAccount } from '../../agents/account.ts';
import { inHome } from '../../agents/command-line.ts';
import { needsOf, SECRET_PLACES, USUAL_VARIABLES } from '../../agents/sandbox.ts';
import { makeFolder } from '../../folder.ts';
import { packageRoot } from '../../package.ts';
import type { Log } from '../../log.ts';
import type { Sandbox } from '../../protocol/files/tier-sandbox.ts';
import { allowedOf, hostsIn } from '../../runner/sandbox/allowed.ts';
import { proxyVariables, wrapped, type Network } from '../../runner/sandbox/bubblewrap.ts';
import { thisMachine } from '../../runner/sandbox/machine.ts';
import { mountsOf, type View } from '../../runner/sandbox/mounts.ts';
import { openProxy } from '../../runner/sandbox/proxy.ts';

/** What is to run in a sandbox, and where. */
export interface Confinement {
  sandbox: Sandbox;
  /** The sandbox program. */
  program: string;
  actor: string;
  command: string;
  /** Where it works. */
  cwd: string;
  /** The variables it would have without a sandbox. */
  env: NodeJS.ProcessEnv;
  /** Its own directory; undefined where it does not talk on the bus. */
  runDir?: string;
  /** The folder of the `crosstalk` on its PATH. */
  binDir?: string;
  stateDir: string;
  /** The folder that holds the state of all transports. */
  stateHome: string;
  /** The transport's checkout, and its git directories. */
  transport: { dir: string; gitDirs: readonly string[] };
  log: Log;
}

/** A command line in a sandbox: the words before it, and its variables. */
export interface Confined {
  wrap: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Ends its way to the network. */
  close: () => Promise<void>;
}

/** Files that are secret on every machine, for a dispatcher that may read them. */
const SYSTEM_SECRETS = [
  ...['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/sudoers.d', '/etc/ssh'],
  ...['/var/spool/cron', '/var/lib/docker', '/var/lib/private'],
];

/** Prepares a sandbox for a command line (work.md, "Sandbox"). */
export async function confine(what: Confinement): Promise<Confined> {
  const { program, cwd, env, runDir } = what;
  const home = await real(env['HOME'] ?? '/');
  const account = accountOf(what.command);
  const own = await ownPlaces(what, account, home);
  const view = await viewOf(what, home, own);
  const { network, close } = await networkOf(what, account, own, runDir);
  return {
    wrap: wrapped(program, mountsOf(view, thisMachine), cwd, network),
    env: {
      ...kept(env, [
        ...USUAL_VARIABLES,
        ...((account && needsOf(account.agent)?.env) ?? []),
        ...what.sandbox.env,
      ]),
      ...proxyVariables(network),
      CROSSTALK_SANDBOX: '1',
      TMPDIR: '/tmp',
    },
    close,
  };
}

type Own = View['own'];

/** The folders of the CLI, which are the actor's own here, with the operator's settings and login in them. */
async function ownPlaces(
  { stateDir, actor, env }: Confinement,
  account: AgentAccount | undefined,
  home: string,
): Promise<Own> {
  const needs = account && needsOf(account.agent);
  if (account === undefined || needs === undefined) return [];
  const { variable, folder } = account.agent.account;
  const named = account.folder ?? (variable === undefined ? undefined : env[variable]);
  const prefix = folder === '' ? '' : `${folder}/`;
  const root = named === undefined || named === '' ? undefined : await real(inHome(named, home));
  /** A login folder of another name has the same things in it. */
  const placeOf = (path: string): string => {
    if (root === undefined) return `${home}/${path}`;
    if (path === folder) return root;
    return path.startsWith(prefix) ? `${root}/${path.slice(prefix.length)}` : `${home}/${path}`;
  };
  const own: { path: string; from: string; writable: boolean }[] = [];
  for (const path of needs.folders) {
    const from = join(stateDir, 'sandbox', actor, path);
    await makeFolder(from, 0o700);
    own.push({ path: placeOf(path), from, writable: true });
  }
  const shared = [
    ...needs.settings.map((path) => ({ path, writable: false })),
    ...needs.logins.map((path) => ({ path, writable: true })),
  ];
  for (const { path, writable } of shared) {
    const from = await realpath(placeOf(path)).catch(() => undefined);
    if (from !== undefined) own.push({ path: placeOf(path), from, writable });
  }
  return own;
}

async function viewOf(what: Confinement, home: string, own: Own): Promise<View> {
  const { sandbox, cwd, runDir, binDir, stateDir, stateHome, transport } = what;
  const ownPaths = own.map(({ path }) => path);
  // HOME may say something else than the system does, and both may hold what is secret.
  const homes = [...new Set([home, await real(userInfo().homedir)])];
  const secrets = [
    ...homes.flatMap((each) => SECRET_PLACES.map((path) => `${each}/${path}`)),
    ...SYSTEM_SECRETS,
    ...sandbox.hide.map((path) => inHome(path, home)),
    ...[stateDir, stateHome, ...transport.gitDirs],
  ].filter((path) => !ownPaths.includes(path));
  const write = [cwd, ...(runDir === undefined ? [] : [runDir])];
  for (const path of sandbox.write) write.push(await real(inHome(path, home)));
  return {
    home,
    write,
    // This program and its node may lie in a folder of which the sandbox has one of its own, such as /tmp.
    read: [
      ...[transport.dir, await real(packageRoot()), dirname(await real(process.execPath))],
      ...(binDir === undefined ? [] : [binDir]),
    ],
    hide: [...new Set(await Promise.all(secrets.map(real)))],
    own,
  };
}

/** A settings file of this size is not read for the hosts it names. */
const MOST_SETTINGS = 256 * 1024;

async function networkOf(
  { sandbox, command, env, actor, log }: Confinement,
  account: AgentAccount | undefined,
  own: Own,
  runDir: string | undefined,
): Promise<{ network: Network; close: () => Promise<void> }> {
  const close = (): Promise<void> => Promise.resolve();
  const { net } = sandbox;
  if (net.includes('all')) return { network: 'all', close };
  const hosts = net.filter((one) => one !== 'model' && one !== 'none');
  const needs = account && needsOf(account.agent);
  if (net.includes('model') && needs !== undefined) {
    hosts.push(...needs.hosts, ...hostsIn(command));
    for (const [name, value] of Object.entries(kept(env, needs.env)))
      if (/URL|ENDPOINT|HOST/.test(name)) hosts.push(...hostsIn(value ?? ''));
    // What the operator has set for the CLI names its model's host too; it cannot be changed from inside.
    const files = own.filter(({ writable }) => !writable).map(({ from }) => from);
    const config = env['OPENCODE_CONFIG'];
    if (account?.agent.name === 'opencode' && config !== undefined) files.push(config);
    for (const file of files) hosts.push(...hostsIn(await smallFile(file)));
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

/** More hosts of one run are not told of. */
const MOST_TOLD = 20;

async function smallFile(path: string): Promise<string> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : Infinity),
    () => Infinity,
  );
  return size <= MOST_SETTINGS ? readFile(path, 'utf8').catch(() => '') : '';
}

/** The variables that fit one of some patterns: a name, or the beginning of names and `*`. */
function kept(env: NodeJS.ProcessEnv, patterns: readonly string[]): NodeJS.ProcessEnv {
  const fits = (name: string): boolean =>
    patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
  return Object.fromEntries(Object.entries(env).filter(([name]) => fits(name)));
}

async function real(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
