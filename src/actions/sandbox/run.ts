import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutOurs } from '../../dispatcher/run/workplace.ts';
import { confine, type Confined } from '../../dispatcher/sandbox/confine.ts';
import { commandLine, programToFind } from '../../agents/command-line.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { runBounded } from '../../runner/bounded-program.ts';
import { runPlain } from '../../runner/plain-session.ts';
import { findBackend } from '../../runner/sandbox/bubblewrap.ts';
import { USUAL_SANDBOX, type Sandbox } from '../../protocol/files/tier-sandbox.ts';
import type { EventName, LogFields } from '../../log.ts';
import { stateHome } from '../../state/directory.ts';
import { findClone } from '../../transport/clone/clone.ts';
import { knownHost } from '../setup/approvals.ts';
import type { Context } from '../context.ts';

/** A command to run in a sandbox. */
export interface SandboxInput {
  /** The command line, as words. */
  words: readonly string[];
  /** The actor whose tier defines the sandbox; without it, the usual sandbox. */
  actor?: string;
  tier?: string;
}

const GRACE_MS = 5000;

/** The notes about events of the sandbox on the terminal. */
const SAID: Partial<Record<EventName, (fields: LogFields) => string>> = {
  sandbox_refused: ({ host }) => `the sandbox does not reach ${String(host)}`,
  repository_moved: ({ path }) => `the repository ${String(path)} is not where it was`,
  repository_new: ({ path }) =>
    `${String(path)} is new: git executes what its settings say, so look at them before you use it`,
};

/**
 * Runs a command on the terminal in the sandbox that an actor's runs would have, with the current folder
 * to work in.
 *
 * @returns its exit code
 * @throws CrosstalkError `refused` when no sandbox can be made, `not_found` for a tier without one,
 *   `usage` for a tier without an actor
 */
export async function runInSandbox(context: Context, input: SandboxInput): Promise<number> {
  const command = input.words.map(quoted).join(' ');
  const cwd = await realpath(context.cwd);
  const what = { command, cwd, sandbox: await sandboxOf(context, input) };
  return inSandbox(context, { ...what, actor: input.actor ?? 'sandbox' }, async ({ wrap, env }) => {
    const words = [...wrap, '/bin/sh', '-c', command];
    const ended = await runPlain(words, { cwd: context.cwd, env, inherits: false }, GRACE_MS);
    if ('exitCode' in ended) return ended.exitCode;
    throw new CrosstalkError('refused', `the sandbox cannot be started: ${ended.startError}`);
  });
}

/** Milliseconds for a program to print its version. */
const TRIAL_MS = 5000;
/** Maximum bytes of its output that are read. */
const TRIAL_BYTES = 64 * 1024;

/**
 * Tests whether the program of a command starts in the usual sandbox: it is asked for its version, in an
 * empty folder and without the network.
 *
 * @returns the reason why it does not start there, in one line; undefined when it does, or when that
 *   cannot be determined in time
 */
export async function triedInSandbox(
  context: Context,
  { actor, cli }: { actor: string; cli: string },
): Promise<string | undefined> {
  const program = programToFind(commandLine(cli), context.env['HOME']);
  if (program === undefined) return undefined;
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'crosstalk-trial-')));
  const sandbox = { ...USUAL_SANDBOX, net: ['none'] };
  const command = `${quoted(program)} --version`;
  const bounds = { out: TRIAL_BYTES, err: TRIAL_BYTES, timeout: TRIAL_MS };
  try {
    return await inSandbox(context, { command, cwd, sandbox, actor }, async (confined) => {
      const signal = new AbortController().signal;
      const words = [...confined.wrap, '/bin/sh', '-c', command];
      const { code, err } = await runBounded(
        words,
        { cwd, env: confined.env },
        { ...bounds, signal },
      );
      if (code !== 126 && code !== 127) return undefined;
      const said = err.toString('utf8');
      const last = escapeInvisible(said.trim().split('\n').at(-1) ?? '').slice(0, 200);
      return [last, await confined.notShown(said)].filter(Boolean).join('; ');
    });
  } catch (error) {
    return reasonOf(error);
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

/** Executes work with a command in a sandbox of this machine, which is created for it. */
async function inSandbox<T>(
  context: Context,
  what: { command: string; cwd: string; sandbox: Sandbox; actor: string },
  work: (confined: Confined) => Promise<T>,
): Promise<T> {
  const { env, paths, transport, note, now } = context;
  const backend = await findBackend(env);
  if (!backend.ok) throw new CrosstalkError('refused', `${backend.problem}; ${backend.fix}`);
  const clone = await findClone(transport.dir);
  const { host } = await knownHost(context, undefined).catch(() => ({ host: undefined }));
  await makeFolder(paths.run, 0o700);
  const runDir = await mkdtemp(join(paths.run, 'sandbox-'));
  const confined = await confine({
    ...what,
    ...{ program: backend.program, runDir, now },
    env: withoutOurs(env),
    stateDir: paths.root,
    stateHome: stateHome(env),
    transport: { dir: transport.dir, gitDirs: [clone.gitDir, clone.commonDir] },
    tiers: [...(host?.inForce.values() ?? [])].flat(),
    log: (event, fields) => {
      note(SAID[event]?.(fields ?? {}) ?? event);
    },
  });
  try {
    return await work(confined);
  } finally {
    await confined.close();
    await rm(runDir, { recursive: true, force: true });
  }
}

async function sandboxOf(context: Context, { actor, tier }: SandboxInput): Promise<Sandbox> {
  if (actor === undefined) {
    if (tier === undefined) return USUAL_SANDBOX;
    throw new CrosstalkError(
      'usage',
      `--tier ${shown(tier)} is of no actor; name the actor too, with --actor`,
    );
  }
  const { host } = await knownHost(context, undefined);
  const tiers = host?.inForce.get(actor);
  if (tiers === undefined) {
    const served = [...(host?.inForce.keys() ?? [])];
    throw new CrosstalkError(
      'not_found',
      `this machine does not serve ${shown(actor)}${didYouMean(actor, served)}; it serves ${served.join(', ') || 'nobody'}`,
    );
  }
  if (tiers.length === 0)
    throw new CrosstalkError(
      'refused',
      `nothing of ${actor} is approved on this machine; see it with: crosstalk host show`,
    );
  const found = tier === undefined ? tiers[0] : tiers.find(({ name }) => name === tier);
  if (found?.sandbox !== undefined) return found.sandbox;
  const names = tiers.map(({ name }) => name);
  throw new CrosstalkError(
    'not_found',
    found === undefined
      ? `${actor} has no tier ${shown(tier)} here, only ${names.join(', ')}`
      : `${actor}.${found.name} has no sandbox here; give it one with: crosstalk actor set ${actor} --tier ${found.name} sandbox=default`,
  );
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
