import { machineZone } from '../clock.ts';
import { mkdtemp, readFile, realpath, rm, access, constants, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, delimiter } from 'node:path';
import { invoke, type Invocation } from '../../runner/runner.ts';
import { processRunner } from '../../runner/process-runner.ts';
import { outcomeOf } from '../../runner/outcome.ts';
import { CrosstalkError } from '../../errors.ts';
import { KNOWN_AGENTS, knownAgent, type AgentCli, loginFiles } from '../../agents/agents.ts';
import { sessionsOf } from '../../agents/sessions/sessions-of.ts';
import { ADAPTERS, warmOf, type Adapter } from '../../agents/sessions/warm-of.ts';
import { refusalOf } from '../../agents/refusal.ts';
import { shown } from '../../protocol/text/result.ts';

/** Bytes of `{}` and a line feed: some CLIs create the file before anybody logs in. */
const EMPTY_BYTES = 3;

/** The state of a known agent CLI, as far as it is visible without running it. */
export interface AgentState {
  agent: AgentCli;
  isInstalled: boolean;
  /** The evidence that it is logged in; undefined when that is not known. */
  loggedInBy: string | undefined;
}

/** Looks for the known agent CLIs and their logins, and runs none of them. */
export async function lookAtAgents(env: NodeJS.ProcessEnv): Promise<AgentState[]> {
  return Promise.all(
    KNOWN_AGENTS.map(async (agent) => ({
      agent,
      isInstalled: (await programOf(agent.name, env['PATH'] ?? '')) !== undefined,
      loggedInBy: await loginOf(agent, env),
    })),
  );
}

/** Returns the command that installs a known agent CLI. */
export function installing(agent: AgentCli): string {
  return `npm install --global ${agent.package}`;
}

/** Finds the path of a program on a PATH. */
export async function programOf(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter((one) => one !== '')) {
    const program = join(folder, name);
    const found = await access(program, constants.X_OK).then(
      async () => (await stat(program)).isFile(),
      () => false,
    );
    if (found) return program;
  }
  return undefined;
}

/** Returns the evidence that it is logged in: a variable, or a file that a login writes. */
async function loginOf(agent: AgentCli, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const key = agent.account.keys.find((name) => (env[name] ?? '') !== '');
  if (key !== undefined) return key;
  for (const file of loginFiles({ agent, id: agent.name }, env)) {
    if (
      await stat(file).then(
        (found) => found.size > EMPTY_BYTES,
        () => false,
      )
    )
      return file;
  }
  return undefined;
}

/** The state of a known agent CLI on this machine. */
export interface AgentReport {
  name: string;
  /** The path of the program; null when it is not on the PATH, and then nothing else is known. */
  path: string | null;
  /** Null when the program does not report it. */
  version: string | null;
  /** The package it belongs to, otherwise the file to which the program's path resolves. */
  from: string | null;
  /** The evidence that it is logged in; null when that is not known. */
  logged_in_by: string | null;
  /** The values of a tier's `session` that it supports: `fresh`, `resume` and `warm`. */
  sessions: string[];
  /** The program that keeps its process, if it needs one; `path` is null if it is not on the PATH. */
  adapter: { name: string; install: string; path: string | null } | null;
  /** The command to install it, or to log in. */
  install: string;
  login: string;
  /** The result of a run with a one-word prompt; null when no run was requested. */
  run: AgentRun | null;
}

/**
 * The outcome of a trial run; `until` (ISO 8601 in UTC) is the time at which the CLI says that it will
 * work again.
 */
type AgentRun =
  | { result: 'works'; answer: string; seconds: number }
  | { result: 'rate_limited' | 'out_of_credit'; said: string; until: string | null }
  | { result: 'not_logged_in'; said: string }
  | { result: 'failed'; said: string };

interface AgentsInput {
  env: NodeJS.ProcessEnv;
  /** The names of the CLIs to examine; empty for all. */
  names: readonly string[];
  /** Milliseconds for a run with a one-word prompt; without it there is no run. */
  run?: number;
  now: () => Date;
  signal: AbortSignal;
  /** Called before a CLI is run. */
  trying?: (name: string) => void;
}

const PROMPT = 'Reply with the one word: ready\n';
const VERSION_LIMIT_MS = 15_000;
const GRACE_MS = 2000;
const MAX_OUTPUT = 64 * 1024;

/**
 * Examines the agent CLIs of this machine. Runs their `--version` if no package contains it, and their
 * headless command with a one-word prompt only on request.
 *
 * @throws CrosstalkError `usage` for an unknown name
 */
export async function findAgents(input: AgentsInput): Promise<AgentReport[]> {
  const wanted = input.names.map((name) => {
    const agent = knownAgent(name);
    if (agent !== undefined) return agent;
    const known = KNOWN_AGENTS.map((one) => one.name).join(', ');
    throw new CrosstalkError('usage', `${shown(name)} is no known agent CLI; known are ${known}`);
  });
  const reports: AgentReport[] = [];
  // One after another, because they are heavy and share the limits of their accounts.
  for (const agent of wanted.length === 0 ? KNOWN_AGENTS : wanted) {
    reports.push(await report(agent, input));
    if (input.signal.aborted) throw new CrosstalkError('aborted', 'interrupted');
  }
  return reports;
}

async function report(agent: AgentCli, input: AgentsInput): Promise<AgentReport> {
  const path = await programOf(agent.name, input.env['PATH'] ?? '');
  const adapter = await adapterOf(ADAPTERS[agent.name], input.env['PATH'] ?? '');
  const isWarm = warmOf(agent.headless).ok && adapter?.path !== null;
  const known = {
    name: agent.name,
    install: installing(agent),
    login: agent.login,
    sessions: [
      ...['fresh', ...(sessionsOf(agent.headless).ok ? ['resume'] : [])],
      ...(isWarm ? ['warm'] : []),
    ],
    adapter,
  };
  if (path === undefined) {
    return { ...known, path: null, version: null, from: null, logged_in_by: null, run: null };
  }
  const real = await realpath(path).catch(() => path);
  const belongs = await packageOf(real);
  return {
    ...known,
    path,
    version: belongs?.version ?? (await versionOf(path, input)) ?? null,
    from: belongs === undefined ? real : `npm package ${belongs.name}`,
    logged_in_by: (await loginOf(agent, input.env)) ?? null,
    run: input.run === undefined ? null : await tried(agent, input, input.run),
  };
}

async function adapterOf(
  adapter: Adapter | undefined,
  path: string,
): Promise<AgentReport['adapter']> {
  if (adapter === undefined) return null;
  const { name, package: of } = adapter;
  const install = `npm install --global ${of}`;
  return { name, install, path: (await programOf(name, path)) ?? null };
}

function tried(agent: AgentCli, input: AgentsInput, limit: number): ReturnType<typeof tryOut> {
  input.trying?.(agent.name);
  return tryOut(agent, input, limit);
}

/** Finds the npm package that a file belongs to. */
async function packageOf(file: string): Promise<{ name: string; version: string } | undefined> {
  if (!file.includes('/node_modules/')) return undefined;
  for (let folder = dirname(file); !folder.endsWith('node_modules'); folder = dirname(folder)) {
    try {
      const text = await readFile(join(folder, 'package.json'), 'utf8');
      const { name, version } = JSON.parse(text) as { name?: unknown; version?: unknown };
      if (typeof name === 'string' && typeof version === 'string') return { name, version };
    } catch {
      // The package.json is in a folder further up.
    }
  }
  return undefined;
}

async function versionOf(path: string, input: AgentsInput): Promise<string | undefined> {
  const result = await inFolder((folder) =>
    invoke(processRunner, {
      ...settings(input, folder),
      command: `exec "$CROSSTALK_PROGRAM" --version`,
      env: { ...settings(input, folder).env, CROSSTALK_PROGRAM: path },
      input: '',
      timeout: VERSION_LIMIT_MS,
    }),
  );
  return /(?<!\d)\d+\.\d+(?:\.\d+)?[\w.+-]*/.exec(result.stdout.slice(0, 1000))?.[0];
}

/** Runs the headless command of the table with a one-word prompt, in an empty folder. */
async function tryOut(agent: AgentCli, input: AgentsInput, timeout: number): Promise<AgentRun> {
  const result = await inFolder((folder) =>
    invoke(processRunner, {
      ...settings(input, folder),
      command: agent.headless,
      input: PROMPT,
      timeout,
    }),
  );
  const outcome = outcomeOf(result, { timeout, maxOutput: MAX_OUTPUT });
  if (outcome.kind === 'answered') {
    const answer = outcome.text.trim().slice(0, 200);
    return { result: 'works', answer, seconds: Math.round(result.duration / 100) / 10 };
  }
  const ended = outcome.kind !== 'failed' || outcome.reason === 'exit_code';
  const zone = machineZone() ?? 'UTC';
  const refusal = ended ? refusalOf(agent, result, input.now(), zone) : undefined;
  if (refusal?.kind === 'not_logged_in') return { result: 'not_logged_in', said: refusal.said };
  if (refusal !== undefined) {
    const until = refusal.until?.toISOString() ?? null;
    return { result: refusal.kind, said: refusal.said, until };
  }
  const said = outcome.kind === 'failed' ? outcome.detail : 'printed nothing';
  return { result: 'failed', said };
}

function settings(
  { env, signal }: AgentsInput,
  folder: string,
): Omit<Invocation, 'command' | 'input' | 'timeout'> {
  const own = Object.entries(env).filter(([name]) => !name.startsWith('CROSSTALK_'));
  return {
    cwd: folder,
    // The folder that the commands of the table allow their CLI to write to.
    env: { ...Object.fromEntries(own), CROSSTALK_RUN_DIR: folder },
    grace: GRACE_MS,
    maxOutput: MAX_OUTPUT,
    signal,
    onStart: () => Promise.resolve(),
  };
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'crosstalk-agents-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
