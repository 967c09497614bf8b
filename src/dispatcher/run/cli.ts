import type { Engine } from './engine.ts';
import { ask, invoke, type InvocationResult } from '../../runner/runner.ts';
import { readOutput } from './output.ts';
import { passed } from '../../crash-points.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { formatMessage } from '../../protocol/message.ts';
import { Concealer } from '../../protocol/text/secrets.ts';
import { suffixOf } from '../../protocol/layout.ts';
import { makeFolder } from '../../folder.ts';
import { removeRunDirectory, runDirectory } from '../../state/run-directory.ts';
import { failed } from './conclude.ts';
import { RunEndpoint } from './endpoint.ts';
import { stageFiles } from '../staging/files.ts';
import { withoutOurs, type Workplace } from './workplace.ts';
import type { Job, JobResult } from './job.ts';
import { permitOverAcp, runPermission } from './permitting.ts';
import {
  type RunInput,
  confinedIn,
  explained,
  outputForm,
  startProcess,
  type RunProcess,
} from './process.ts';

const TERM_GRACE_MS = 5000;

/** Recorded result of a run that could not start. */
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

/** Most bytes that are read of the output of a command that prepares a copy. */
const MOST_SAID = 16 * 1024 * 1024;

/**
 * Runs a command line that prepares a new copy of a repository. It is on record as the run is, so that a start after
 * a crash ends its remaining processes.
 */
export async function prepare(
  engine: Engine,
  job: Job,
  command: string,
  dir: string,
): Promise<InvocationResult> {
  const { id, actor, host, channel, messages, tip, tier, cancel } = job;
  const env = withoutOurs(engine.env);
  const own = runDirectory(engine.paths.run, id);
  if (tier.sandbox !== undefined) await makeFolder(own, 0o700);
  const confined = await confinedIn(engine, { actor, tier, command, cwd: dir, env }, own);
  try {
    const result = await invoke(engine.runner, {
      command,
      ...(confined && { wrap: confined.wrap }),
      cwd: dir,
      env: confined?.env ?? env,
      input: '',
      timeout: tier.timeout,
      grace: TERM_GRACE_MS,
      maxOutput: MOST_SAID,
      signal: AbortSignal.any([engine.stop.signal, cancel]),
      onStart: async (pid) => {
        await engine.runs.begin({ id, actor, host, channel, messages, tip, workdir: dir }, pid);
      },
    });
    return await explained(confined, result);
  } finally {
    await confined?.close().catch(() => undefined);
    if (confined !== undefined) await removeRunDirectory(own);
  }
}

/** Runs the CLI, and meanwhile serves its requests. */
export async function runIn(
  engine: Engine,
  job: Job,
  place: Workplace,
  given: RunInput,
): Promise<InvocationResult> {
  const { input, batch, maxOutput, thread, counted, handed, tools, permitting, turn } = given;
  const { id, actor, host, channel, messages, tip, tier } = job;
  const kept = turn?.kept;
  const files = batch.map(({ relPath, message }, index) => ({
    name: `${String(index + 1)}-${suffixOf(relPath)}.md`,
    content: formatMessage(message),
  }));
  const permission = permitting && runPermission(engine, job, place, permitting);
  const asking = permission && {
    askPermission: permission.ask.bind(permission),
  };
  const session = kept && { id: kept.id, isOpen: kept.seat !== undefined };
  const desk = await RunEndpoint.open({ ...engine, ...asking }, job, files, session);
  let seat: RunProcess | undefined = kept?.seat;
  /** Whether its pool ends it, and not this function. */
  let isTaken = seat !== undefined;
  const form = outputForm(tier.cli, kept);
  const path = engine.runs.outputPath(id);
  // A server may print its secrets, and a CLI the output of a server.
  const concealer = new Concealer(tools.secrets);
  const shown = { out: concealer.stream(), err: concealer.stream() };
  try {
    const laid = await stageFiles(engine.transport, tip, batch, desk.dir);
    const text = await input(laid, desk.dir);
    seat ??= await startProcess(engine, job, place, desk.dir, given);
    const result = await ask(seat.cli, {
      ...(form && { raw: { path, ...(form.noise !== undefined && { noise: form.noise }) } }),
      input: text,
      timeout: tier.timeout,
      ...(permission && { idle: () => permission.idle }),
      ...(kept && permission && { permit: permitOverAcp(permission, engine.newId) }),
      grace: TERM_GRACE_MS,
      maxOutput,
      signal: AbortSignal.any([engine.stop.signal, job.cancel]),
      hear: (stream, bytes) => {
        engine.transcribing.hear(id, stream, shown[stream](bytes));
      },
      onStart: async (pid) => {
        passed('cli_started');
        const since = engine.now().toISOString();
        const agent = form && { agent: form.agent };
        const bill = {
          tier: tier.name,
          thread,
          since,
          ...agent,
          ...counted,
          ...(handed && { handed }),
        };
        const head = { id, actor, host, channel, tier: tier.name, messages, since };
        const session = turn && { session: turn.kind, ...(turn.before && { before: turn.before }) };
        const of = { id, actor, host, channel, messages, tip, workdir: place.dir };
        const run = { ...of, ...bill, ...session, ...(kept && { desk: kept.id }) };
        const leader = await engine.runs.begin(run, pid);
        await seat?.began?.(leader);
        isTaken = kept !== undefined;
        // Only now: who watches takes a transcript without a record for that of a run that is over.
        engine.transcribing.begin(head, form?.narrator);
        passed('run_recorded');
        if (seat !== undefined) job.steering?.begin(given.tell(seat.cli));
      },
    });
    await job.steering?.pause();
    passed('cli_ended');
    for (const stream of ['out', 'err'] as const)
      engine.transcribing.hear(id, stream, shown[stream]());
    const read = await readOutput(form?.reader, result);
    return concealed(concealer, await explained(seat.confined, read));
  } finally {
    if (!isTaken) await seat?.close();
    // A question that is still open is taken back before the run has an outcome.
    await permission?.close();
    // The output of the CLI is stored even if the folder cannot be removed.
    await desk.close().catch((error: unknown) => {
      engine.log('internal_error', { id, actor, error: reasonOf(error) });
    });
    if (kept !== undefined && !isTaken) await removeRunDirectory(desk.dir);
  }
}

/** Returns the result of a run without the secrets of its tools: answers and failure notices are made from it. */
function concealed(concealer: Concealer, result: InvocationResult): InvocationResult {
  const { stdout, stderrTail, reported } = result;
  return {
    ...result,
    stdout: concealer.text(stdout),
    stderrTail: concealer.text(stderrTail),
    ...(reported !== undefined && { reported: concealer.text(reported) }),
  };
}

/** Returns the result of a run, or the reason why its sandbox cannot be made. */
export async function unlessConfined(
  run: Promise<InvocationResult>,
): Promise<InvocationResult | JobResult> {
  return run.catch((error: unknown) => {
    const ended = error instanceof CrosstalkError ? confinedAs(error) : undefined;
    if (ended === undefined) throw error;
    return ended;
  });
}

/**
 * Returns the result of a job whose sandbox cannot be made: it waits, or its command needs a path that is not shown.
 */
export function confinedAs({ data, message }: CrosstalkError): JobResult | undefined {
  if (data['kind'] === 'no_sandbox')
    return { kind: 'parked', detail: message, reason: 'no_sandbox' };
  return data['kind'] === 'not_shown' ? failed(NOTHING_RAN, 'misconfigured', message) : undefined;
}
