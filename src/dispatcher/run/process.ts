import type { Engine } from './engine.ts';
import { capOf, plainCall } from '../../agents/output/plain-call.ts';
import { findClone } from '../../transport/clone/clone.ts';
import { messageKey, type MessageRef } from '../../protocol/layout.ts';
import { removeRunDirectory } from '../../state/run-directory.ts';
import { stateHome } from '../../state/directory.ts';
import type { InvocationResult, RunningCli } from '../../runner/runner.ts';
import type { ProcessIdentity } from '../../state/process-identity.ts';
import { stageAcpServers, stageServers, type ServersOfRun } from '../staging/mcp-servers.ts';
import { confine, type Confined } from '../sandbox/confine.ts';
import type { Confinement } from '../sandbox/git-settings.ts';
import type { PooledProcess, AgentProcess } from '../sessions/pooled-process.ts';
import { runEnvironment, type Workplace } from './workplace.ts';
import type { Job } from './job.ts';
import { stageServer, type Permitting } from './permitting.ts';
import { endOrphans } from './orphans.ts';
import type { CountedFor } from '../../protocol/automation/fields.ts';
import type { Handed } from '../../protocol/usage.ts';
import type { Located } from '../../protocol/message.ts';
import type { BatchFiles } from '../../protocol/prompt/prompt-thread.ts';
import type { Turn } from '../sessions/session-of-run.ts';
import type { Tell } from '../steering/run-steering.ts';

/** Process of a run. */
export interface RunProcess extends AgentProcess {
  /** Called when its process is on record with its run; it starts afterwards. */
  began?: (leader: ProcessIdentity) => Promise<void>;
  /** Its sandbox, if it has one. */
  confined?: Confined | undefined;
}

/** `sh` returns these for a program that it cannot start or find, as `env` does. */
const NOT_FOUND = [126, 127];

/**
 * Returns the output of a command in a sandbox, with the path that is hidden there of a program that it did not find.
 */
export async function explained(
  confined: Confined | undefined,
  result: InvocationResult,
): Promise<InvocationResult> {
  const { exitCode, stderrTail } = result;
  if (confined === undefined || !NOT_FOUND.includes(exitCode ?? 0)) return result;
  const hidden = await confined.notShown(stderrTail).catch(() => undefined);
  if (hidden === undefined) return result;
  const last = stderrTail.trim().split('\n').at(-1)?.slice(0, MOST_QUOTED) ?? '';
  return { ...result, stderrTail: `${stderrTail.trimEnd()}\n${hidden} (${last})\n` };
}

/** Most characters of the output that are quoted beside its meaning. */
const MOST_QUOTED = 80;

/** Form of a run's output, with its reader and its renderer. */
interface OutputForm {
  /** The CLI. */
  agent: string;
  /** Names of its reader and its transcript renderer. */
  reader: string;
  narrator: string;
  /** Beginning of the lines that are dropped. */
  noise?: string;
}

/** Returns the form of a run's output; undefined for plain text. */
export function outputForm(
  command: string,
  kept: PooledProcess | undefined,
): OutputForm | undefined {
  if (kept !== undefined) return { agent: kept.way.agent, reader: 'acp', narrator: 'acp' };
  const call = plainCall(command);
  if (call === undefined) return undefined;
  const { agent, format } = call;
  const noise = format.noise === undefined ? {} : { noise: format.noise };
  return { agent, reader: agent, narrator: agent, ...noise };
}

/** Starts the CLI of a run: its process waits until it is on record. */
export function startProcess(
  engine: Engine,
  job: Job,
  place: Workplace,
  runDir: string,
  given: RunInput,
): Promise<RunProcess> {
  const { kept } = given.turn ?? {};
  return kept === undefined
    ? processOfRun(engine, job, place, runDir, given)
    : processOfSession(engine, job, place, runDir, given, kept);
}

/** Starts a process for one prompt. */
async function processOfRun(
  engine: Engine,
  job: Job,
  place: Workplace,
  runDir: string,
  { tools, permitting, turn, rest, thread }: RunInput,
): Promise<RunProcess> {
  const { id, actor, tier } = job;
  if (permitting !== undefined) await stageServer(engine, job, runDir);
  const usual = runEnvironment(engine, job, place, runDir);
  const where = { runDir, env: usual, asks: permitting !== undefined, place };
  const servers = await stageServers(engine, job, tools, where);
  const env = { ...usual, ...servers.env };
  const key = `${actor}/${messageKey(thread)}`;
  const session = turn && { key, goesOn: turn.kind === 'resumed' };
  const what = { actor, tier, command: tier.cli, cwd: place.dir, env, ...(session && { session }) };
  const confined = await confinedIn(engine, what, runDir);
  const begins = turn?.command ?? plainCall(tier.cli)?.command ?? tier.cli;
  const asks = permitting === undefined ? '' : ` ${permitting.flags}`;
  const cli = engine.runner.start({
    command: `${begins}${capOf(tier.cli, rest)}${asks}${servers.flags}`,
    ...(confined && { wrap: confined.wrap }),
    cwd: place.dir,
    env: confined?.env ?? env,
  });
  let leader: ProcessIdentity | undefined;
  return {
    cli,
    confined,
    began: (process) => {
      leader = process;
      return Promise.resolve();
    },
    close: async () => {
      cli.end();
      await endRest(engine, { id, actor }, runDir, leader);
      await confined?.close().catch(() => undefined);
      await servers.clear().catch(() => undefined);
    },
  };
}

/**
 * Starts a process for the pool. Its directory, its variables and its servers are those of the session: the files of
 * a turn are in the directory while the turn is under way.
 */
async function processOfSession(
  engine: Engine,
  job: Job,
  place: Workplace,
  runDir: string,
  { tools, permitting }: RunInput,
  kept: PooledProcess,
): Promise<RunProcess> {
  const { actor, tier } = job;
  const { id, way } = kept;
  const asks = permitting !== undefined;
  const usual = runEnvironment(engine, { ...job, id, messages: [] }, place, runDir);
  const env = { ...usual, ...way.env };
  const servers = await stageAcpServers(tools, { runDir, env, asks, place });
  const names = tools.servers.map(({ named }) => named.name);
  const what = { actor, tier, command: tier.cli, cwd: place.dir, env };
  const confined = await confinedIn(engine, what, runDir);
  const meta = way.meta(names, asks);
  const cli = engine.runner.start({
    command: way.command,
    ...(confined && { wrap: confined.wrap }),
    cwd: place.dir,
    env: confined === undefined ? env : { ...confined.env, ...way.env },
    acp: {
      servers,
      ...(meta && { meta }),
      folders: way.takesFolders ? [runDir] : [],
      options: way.options,
    },
  });
  let leader: ProcessIdentity | undefined;
  const seat: RunProcess = {
    cli,
    close: async () => {
      cli.end();
      await endRest(engine, { id, actor }, runDir, leader);
      await confined?.close().catch(() => undefined);
      await removeRunDirectory(runDir);
    },
  };
  seat.began = async (process) => {
    leader = process;
    delete seat.began;
    await kept.take(seat, process);
  };
  return seat;
}

/** Ends the processes that a CLI has left outside of its process group. */
async function endRest(
  { log }: Pick<Engine, 'log'>,
  about: { id: string; actor: string },
  dir: string,
  leader: ProcessIdentity | undefined,
): Promise<void> {
  if (leader === undefined) return;
  const count = await endOrphans([{ dir, leader }]).catch(() => 0);
  if (count > 0) log('processes_ended', { ...about, count });
}

/** Returns the sandbox of a tier for a command line; undefined for a tier without one. */
export async function confinedIn(
  engine: Engine,
  {
    tier,
    ...what
  }: Pick<Confinement, 'actor' | 'command' | 'cwd' | 'env' | 'session'> & Pick<Job, 'tier'>,
  runDir: string,
): Promise<Confined | undefined> {
  const { sandbox } = tier;
  if (sandbox === undefined) return undefined;
  const backend = await engine.sandboxes.backend();
  // Nothing starts where none can be made; it may have been removed since.
  if (!backend.ok) throw new Error(`${backend.problem}; ${backend.fix}`);
  const { transport, paths, env, log, hosts, now } = engine;
  const { dir } = transport;
  const clone = await findClone(dir);
  return confine({
    ...what,
    ...{ sandbox, program: backend.program, runDir, log, now },
    ...{ binDir: paths.bin, stateDir: paths.root, stateHome: stateHome(env) },
    transport: { dir, gitDirs: [clone.gitDir, clone.commonDir] },
    workdir: tier.workdir,
    tiers: [...(hosts.active?.actors.values() ?? [])].flat(),
  });
}

/** Input of a CLI's run. */
export interface RunInput {
  /** Makes the prompt, which names the files of the batch and those in the run's directory. */
  input: (files: BatchFiles | undefined, runDir: string) => Promise<string>;
  batch: Located[];
  /** Bytes. */
  maxOutput: number;
  /** The first message of the thread. */
  thread: MessageRef;
  /** Causes for which else it is counted; its skills are known once the prompt is made. */
  counted: CountedFor;
  /** US dollars that it may use at most. */
  rest: number | undefined;
  /** Most that it may use, by the budgets in force. */
  handed: Handed | undefined;
  /** The MCP servers that it is given. */
  tools: ServersOfRun;
  /** Person whom it asks for permission, if its tier names one. */
  permitting?: Permitting;
  /** Writer of later messages to its running agent. */
  tell: (cli: RunningCli) => Tell;
  /** Its session, if its tier keeps any. */
  turn?: Turn;
}
