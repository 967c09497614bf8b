import { invoke } from '../../runner/invoke.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { plainCall } from '../../agents/output/plain-call.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { CountedFor } from '../../protocol/automation/counted-for.ts';
import { readOutput } from './output.ts';
import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import { formatMessage, type Located } from '../../protocol/message.ts';
import { Concealer } from '../../protocol/text/concealed.ts';
import { suffixOf } from '../../protocol/names.ts';
import type { BatchFiles } from '../../protocol/prompt/prompt-files.ts';
import type { ProcessIdentity } from '../../state/process-identity.ts';
import { findClone } from '../../transport/clone/clone.ts';
import { makeFolder } from '../../folder.ts';
import { removeRunDirectory, runDirectory } from '../../state/run-directory.ts';
import { stateHome } from '../../state/directory.ts';
import { capOf } from './budgets.ts';
import { confine, type Confined } from '../sandbox/confine.ts';
import type { Confinement } from '../sandbox/view.ts';
import { RunDesk } from './desk.ts';
import { layServers, type LaidServers, type ServersOfRun } from '../laying/mcp-servers.ts';
import { layFiles } from '../laying/files.ts';
import { runEnvironment, withoutOurs } from './environment.ts';
import type { Job, RunParts } from './job.ts';
import { layServer, runPermission, type Permitting } from './permitting.ts';
import { endSurvivors } from './survivors.ts';
import type { Turn } from '../sessions/turn.ts';
import type { Workplace } from './workplace.ts';

const TERM_GRACE_MS = 5000;

/** The recorded result of a run that could not begin. */
export const NOTHING_RAN: InvocationResult = {
  exitCode: null,
  signal: null,
  stdout: '',
  stderrTail: '',
  timedOut: false,
  aborted: false,
  tooMuchOutput: false,
  duration: 0,
};

interface RunInput {
  /** Makes the prompt, which names the files of the batch and what lies in the run's directory. */
  input: (files: BatchFiles | undefined, runDir: string) => Promise<string>;
  batch: Located[];
  /** Bytes. */
  maxOutput: number;
  /** The first message of the thread. */
  thread: MessageRef;
  /** For what else it is counted; its skills are known once the prompt is made. */
  counted: CountedFor;
  /** US dollars that it may use at most. */
  rest: number | undefined;
  /** The MCP servers that it is given. */
  tools: ServersOfRun;
  /** Whom it asks for permission, if its tier says so. */
  permitting?: Permitting;
  /** Its session, if its tier keeps any. */
  turn?: Turn;
}

/** More is not read of what a command says that prepares a copy. */
const MOST_SAID = 16 * 1024 * 1024;

/**
 * Runs a command line that prepares a new copy of a repository. It is on record as the run is, so that a
 * start after a crash ends what is left of it.
 */
export async function prepare(
  parts: RunParts,
  job: Job,
  command: string,
  dir: string,
): Promise<InvocationResult> {
  const { id, actor, host, channel, messages, tip, tier, cancel } = job;
  const env = withoutOurs(parts.environment);
  const own = runDirectory(parts.desks.folder, id);
  if (tier.sandbox !== undefined) await makeFolder(own, 0o700);
  const confined = await confinedIn(parts, { actor, tier, command, cwd: dir, env }, own);
  try {
    return await invoke(parts.runner, {
      command,
      ...(confined && { wrap: confined.wrap }),
      cwd: dir,
      env: confined?.env ?? env,
      input: '',
      timeout: tier.timeout,
      grace: TERM_GRACE_MS,
      maxOutput: MOST_SAID,
      signal: AbortSignal.any([parts.signal, cancel]),
      onStart: async (pid) => {
        await parts.runs.begin({ id, actor, host, channel, messages, tip, workdir: dir }, pid);
      },
    });
  } finally {
    await confined?.close().catch(() => undefined);
    if (confined !== undefined) await removeRunDirectory(own);
  }
}

/** The sandbox of a tier for a command line; undefined for a tier without one. */
async function confinedIn(
  parts: RunParts,
  { tier, ...what }: Pick<Confinement, 'actor' | 'command' | 'cwd' | 'env'> & Pick<Job, 'tier'>,
  runDir: string,
): Promise<Confined | undefined> {
  const { sandbox } = tier;
  if (sandbox === undefined) return undefined;
  const backend = await parts.sandboxes.backend();
  // Nothing is begun where none can be made; it may have been removed since.
  if (!backend.ok) throw new Error(`${backend.problem}; ${backend.fix}`);
  const { dir, stateDir, environment, binDir, log } = parts;
  const clone = await findClone(dir);
  return confine({
    ...what,
    ...{ sandbox, program: backend.program, runDir, binDir, stateDir, log },
    stateHome: stateHome(environment),
    transport: { dir, gitDirs: [clone.gitDir, clone.commonDir] },
  });
}

/** Runs the CLI, and meanwhile serves its requests. */
export async function runIn(
  parts: RunParts,
  job: Job,
  place: Workplace,
  { input, batch, maxOutput, thread, counted, rest, tools, permitting, turn }: RunInput,
): Promise<InvocationResult> {
  const { id, actor, host, channel, messages, tip, tier } = job;
  const files = batch.map(({ relPath, message }, index) => ({
    name: `${String(index + 1)}-${suffixOf(relPath)}.md`,
    content: formatMessage(message),
  }));
  const permission = permitting && runPermission(parts, job, place, permitting);
  const asking = permission && {
    askPermission: permission.ask.bind(permission),
  };
  const desk = await RunDesk.open({ ...parts.desks, log: parts.log, ...asking }, job, files);
  let leader: ProcessIdentity | undefined;
  let confined: Confined | undefined;
  let laidServers: LaidServers | undefined;
  const call = plainCall(tier.cli);
  const { noise } = call?.format ?? {};
  const path = parts.runs.outputPath(id);
  // A server may print its secrets, and a CLI what a server prints.
  const concealer = new Concealer(tools.secrets);
  const shown = { out: concealer.stream(), err: concealer.stream() };
  try {
    if (permission !== undefined) await layServer(parts, job, desk.dir);
    const laid = await layFiles(parts.transport, tip, batch, desk.dir);
    const usual = runEnvironment(parts, job, place, desk.dir);
    const where = { runDir: desk.dir, env: usual, asks: permission !== undefined, place };
    laidServers = await layServers(parts, job, tools, where);
    const env = { ...usual, ...laidServers.env };
    const what = { actor, tier, command: tier.cli, cwd: place.dir, env };
    confined = await confinedIn(parts, what, desk.dir);
    const result = await invoke(parts.runner, {
      command: `${turn?.command ?? call?.command ?? tier.cli}${capOf(tier.cli, rest)}${flagsOf(permitting)}${laidServers.flags}`,
      ...(confined && { wrap: confined.wrap }),
      ...(call && { raw: { path, ...(noise !== undefined && { noise }) } }),
      cwd: place.dir,
      env: confined?.env ?? env,
      input: await input(laid, desk.dir),
      timeout: tier.timeout,
      ...(permission && { idle: () => permission.idle }),
      grace: TERM_GRACE_MS,
      maxOutput,
      signal: AbortSignal.any([parts.signal, job.cancel]),
      hear: (stream, bytes) => {
        parts.transcribing.hear(id, stream, shown[stream](bytes));
      },
      onStart: async (pid) => {
        passed('cli_started');
        const since = parts.now().toISOString();
        const agent = call && { agent: call.agent };
        const bill = { tier: tier.name, thread, since, ...agent, ...counted };
        const head = { id, actor, host, channel, tier: tier.name, messages, since };
        const session = turn && { session: turn.kind, ...(turn.before && { before: turn.before }) };
        const of = { id, actor, host, channel, messages, tip, workdir: place.dir };
        const run = { ...of, ...bill, ...session };
        leader = await parts.runs.begin(run, pid);
        // Only now: who watches takes a transcript without a record for that of a run that is over.
        parts.transcribing.begin(head, call?.agent);
        passed('run_recorded');
      },
    });
    passed('cli_ended');
    for (const stream of ['out', 'err'] as const)
      parts.transcribing.hear(id, stream, shown[stream]());
    return concealed(concealer, await readOutput(call, result));
  } finally {
    if (leader !== undefined) {
      const count = await endSurvivors([{ dir: desk.dir, leader }]).catch(() => 0);
      if (count > 0) parts.log('processes_ended', { id, actor, count });
    }
    await confined?.close().catch(() => undefined);
    await laidServers?.clear().catch(() => undefined);
    // A question that is still open is taken back before the run has an outcome.
    await permission?.close();
    // The output of the CLI is kept even if the folder cannot be removed.
    await desk.close().catch((error: unknown) => {
      parts.log('internal_error', { id, actor, error: reasonOf(error) });
    });
  }
}

/** What came of a run without the secrets of its tools: of it answers and failure notices are made. */
function concealed(concealer: Concealer, result: InvocationResult): InvocationResult {
  const { stdout, stderrTail, reported } = result;
  return {
    ...result,
    stdout: concealer.text(stdout),
    stderrTail: concealer.text(stderrTail),
    ...(reported !== undefined && { reported: concealer.text(reported) }),
  };
}

function flagsOf(permitting: Permitting | undefined): string {
  return permitting === undefined ? '' : ` ${permitting.flags}`;
}
