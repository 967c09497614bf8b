import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { atPath } from '../at-path.ts';
import { readDispatch } from '../agents/dispatch-variables.ts';
import { hasCode } from '../errors.ts';

/** The fixed parameters of a command that a run, or a session as an actor, executes (trust.md §3). */
export interface AgentMode {
  /** The state directory, if it is known. */
  state?: string;
  /** The only transport that the command may use. */
  transport?: string;
  /** The sender, as far as this process knows it; for a run the dispatcher decides. */
  actor?: string;
  /** The run's own directory; absent in a session as an actor. */
  runDir?: string;
  /** Whether the directory named by the environment no longer exists, so that the run has ended. */
  ended?: boolean;
  /** The working directory of the run. */
  workdir?: string;
  /** Whether the command only reads, for a run whose sandbox hides the transport; see {@link lookUpWords}. */
  looksUp?: true;
}

/** Whether a command is executed by a run, or for one, so that a dispatcher exists that follows the bus. */
export function isOfRun(mode: AgentMode | undefined): boolean {
  return mode?.runDir !== undefined || mode?.looksUp === true;
}

/** The first word on the command line of the `crosstalk` that a run finds on its PATH. */
const FLAG = '--agent-mode';

/**
 * Returns the first words of such a command line. Runs share it, so it names neither actor nor folder for
 * them.
 */
export function agentModeWords(mode: {
  state: string;
  transport: string;
  actor?: string;
  workdir?: string;
}): string[] {
  return [FLAG, mode.state, mode.transport, mode.actor ?? '', mode.workdir ?? ''];
}

/** The first word of a command line that the dispatcher executes for a run in a sandbox. */
const LOOK_UP = '--look-up';

/**
 * Returns the first words of such a command line: the words after them may only read, and are unverified
 * input of a run.
 */
export function lookUpWords({ state, transport }: { state: string; transport: string }): string[] {
  return [LOOK_UP, state, transport];
}

/**
 * Returns the agent mode of a command line: that of the line itself, which no variable can override;
 * otherwise the one that `CROSSTALK_RUN_DIR` implies, for a `crosstalk` that was found in another way.
 *
 * @returns the mode, and the remaining words of the command; undefined outside of a run
 */
export async function readAgentMode(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ mode: AgentMode; words: readonly string[] } | undefined> {
  const [first, root = '', dir = '', ...rest] = argv;
  if (first === LOOK_UP)
    return { mode: { state: root, transport: dir, looksUp: true }, words: rest };
  const named = nonEmpty(env['CROSSTALK_RUN_DIR']);
  const [flag, state, transport, actor, folder, ...words] = argv;
  const onLine = flag === FLAG;
  if (!onLine && named === undefined) return undefined;
  const said = readDispatch(env);
  const fixed = onLine
    ? { state: nonEmpty(state), transport: nonEmpty(transport), actor: nonEmpty(actor) }
    : {
        state: undefined,
        transport: nonEmpty(env['CROSSTALK_TRANSPORT']),
        actor: said.actor,
      };
  // A session as an actor has no run, whatever the environment contains.
  const inSession = onLine && fixed.actor !== undefined;
  const found =
    named === undefined || inSession ? undefined : await ownRunDirectory(named, fixed.state);
  const ended = found === 'gone';
  const runDir = ended ? undefined : found?.dir;
  const by = fixed.actor ?? (runDir && said.actor);
  const stateDir = fixed.state ?? (runDir === undefined ? undefined : dirname(dirname(runDir)));
  const workdir =
    (onLine ? nonEmpty(folder) : undefined) ??
    (runDir && (await recordedWorkdir(runDir).catch(() => undefined))) ??
    (onLine ? inSandbox(stateDir, env) : undefined);
  return {
    mode: {
      ...(stateDir !== undefined && { state: stateDir }),
      ...(fixed.transport !== undefined && { transport: fixed.transport }),
      ...(by !== undefined && { actor: by }),
      ...(runDir !== undefined && { runDir }),
      ...(ended && { ended }),
      ...(workdir !== undefined && { workdir: resolve(workdir) }),
    },
    words: onLine ? words : argv,
  };
}

/**
 * Returns the working directory of a run in a sandbox. The records of the runs are not visible in a
 * sandbox, which itself keeps a run from other files. When the records are visible, no variable
 * determines the working directory.
 */
function inSandbox(state: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (state === undefined || atPath(join(state, 'runs'), { follow: false }) !== undefined)
    return undefined;
  return env['CROSSTALK_SANDBOX'] === '1' ? nonEmpty(env['CROSSTALK_WORKDIR']) : undefined;
}

/** Returns the working directory of the run of a directory, by the dispatcher's record of the run. */
async function recordedWorkdir(runDir: string): Promise<string | undefined> {
  const { Runs } = await import('../state/runs.ts');
  const runs = new Runs(dirname(dirname(runDir)));
  return (await runs.ofDirectory(basename(runDir)))?.workdir;
}

/**
 * Returns a run's directory, if the path is one or was one: `<state>/run/<id>`, a folder that only this
 * user can write.
 */
async function ownRunDirectory(
  path: string,
  state: string | undefined,
): Promise<{ dir: string } | 'gone' | undefined> {
  const dir = resolve(path);
  const parent = dirname(dir);
  if (state === undefined ? basename(parent) !== 'run' : parent !== join(state, 'run'))
    return undefined;
  const found = await lstat(dir).catch((error: unknown) =>
    hasCode(error, 'ENOENT') ? ('gone' as const) : undefined,
  );
  if (found === 'gone') return found;
  const ours =
    found?.isDirectory() === true &&
    found.uid === (process.getuid?.() ?? found.uid) &&
    (found.mode & 0o077) === 0;
  return ours ? { dir } : undefined;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
