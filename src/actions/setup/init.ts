import { readdir, realpath, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { atPath } from '../../at-path.ts';
import { headlessCommand, KNOWN_AGENTS, knownAgent } from '../../agents/agents.ts';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { channelNameProblem } from '../../protocol/files/channel.ts';
import { VERSION_FILE, isName } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { loadApprovals } from '../../state/approvals.ts';
import { findClone } from '../../transport/clone/clone.ts';
import { headOf, readRef } from '../../transport/clone/refs.ts';
import { readClone, valueOf } from '../../transport/clone/settings.ts';
import { inspectRemote, makeClone } from '../../transport/clone/setup.ts';
import { redact } from '../../transport/git/failure.ts';
import { Git } from '../../transport/git/git.ts';
import { openTransport, withContext } from '../context.ts';
import { type Surroundings, transportAround, firstOnPath } from '../locate.ts';
import { daysOf } from '../sync.ts';
import { bringInto, create } from './create.ts';
import { inProject } from './init-project.ts';
import { DEFAULTS, type InitInput, type Initialised } from './input.ts';
import { join as joinTransport } from './join.ts';
import { noteMissingProgram } from './actors.ts';
import { planProject, type ProjectPlan } from './project.ts';
import { chooseSandbox, choosePlace } from './workdir-option.ts';
import type { TierSlot } from './starter-files.ts';
import { chooseWriter } from './writer.ts';

/** The agent CLI of a host file if none is on the PATH. */
const FALLBACK = 'claude';

/**
 * Creates a transport: new and local, new with an empty remote, or in a project at the project's own
 * remote. Joins an existing one at the remote, or of which the folder is a clone, from another machine.
 *
 * @throws CrosstalkError `refused` for a folder that is not empty; nothing is written then
 */
export async function init(surroundings: Surroundings, asGiven: InitInput): Promise<Initialised> {
  checkInput(asGiven);
  const project = await planProject(surroundings, asGiven);
  try {
    return await initHere(surroundings, asGiven, project);
  } finally {
    await project?.release();
  }
}

async function initHere(
  surroundings: Surroundings,
  asGiven: InitInput,
  project: ProjectPlan | undefined,
): Promise<Initialised> {
  const dir = project?.clone ?? resolve(surroundings.cwd, asGiven.dir ?? '.');
  const joins = await isUnserved(surroundings, dir, asGiven);
  const cloned = joins ? undefined : await emptyClone(surroundings, asGiven, dir);
  if (!joins && cloned === undefined) await assertRoom(dir);
  const answers = await asGiven.converse?.(dir);
  const input = { ...asGiven, ...(answers && { hasNoPlace: true }), ...answers };
  if (joins) {
    const settings = await choose(surroundings, input, dir);
    return joinTransport(surroundings, { ...input, ...settings, dir: await realpath(dir) });
  }
  const made = await makeFolder(dir, project && 0o700).catch((error: unknown) => {
    throw unusable(dir, error);
  });
  try {
    if (project !== undefined) {
      const settings = await chooseNames(surroundings, input, { inProject: true });
      return await inProject(surroundings, input, { project, settings });
    }
    const settings = await choose(surroundings, input, dir);
    const { from } = settings;
    if (cloned !== undefined)
      return await create(surroundings, { ...input, ...settings }, dir, cloned, { isThere: true });
    const remote =
      input.remote === undefined ? undefined : remoteUrl(input.remote, surroundings.cwd);
    const state =
      remote === undefined ? undefined : await inspectRemote(remote, dir, surroundings.env);
    if (state?.kind === 'failed') {
      throw new CrosstalkError(
        'git_failed',
        `cannot use the remote ${redact(input.remote ?? '')}: ${state.failure.reason}; check the address and your access`,
      );
    }
    if (remote !== undefined && state?.kind === 'branches') {
      const window = input.window === 'all' ? undefined : input.window;
      const wanted = { branch: state.branch, from, window, remote: { ...state, url: remote } };
      await makeClone(wanted, dir, dirname(dir), surroundings.env);
      const failure = await bringInto(dir, surroundings);
      if (failure !== undefined)
        throw new CrosstalkError(
          'git_failed',
          `cannot clone ${redact(remote)}: ${failure.reason}; check your access`,
        );
      await assertTransport(surroundings, dir, remote);
      return await joinTransport(surroundings, { ...input, ...settings, dir: await realpath(dir) });
    }
    const empty = state && remote !== undefined ? { ...state, url: remote } : undefined;
    return await create(surroundings, { ...input, ...settings }, dir, empty);
  } catch (error) {
    if (cloned === undefined) await emptyAgain(dir, project === undefined ? made : dir);
    throw unusable(dir, error);
  }
}

type Chosen = TierSlot & { actor: string; from?: string };

/** Chooses the writer here, the served actor, and its CLI. */
async function chooseNames(
  surroundings: Surroundings,
  input: InitInput,
  how: { inProject?: boolean } = {},
): Promise<Chosen> {
  const actor = input.actor ?? DEFAULTS.actor;
  const cli = await chooseCli(surroundings, input);
  const from = await chooseWriter(surroundings, { ...input, ...how, actor });
  return { ...cli, actor, ...(from !== undefined && { from }) };
}

/** Chooses the same, with the actor's working directory and sandbox. */
async function choose(surroundings: Surroundings, input: InitInput, dir: string): Promise<Chosen> {
  const names = await chooseNames(surroundings, input);
  const place = await choosePlace(surroundings, input, dir);
  return { ...names, ...place, ...(await chooseSandbox(surroundings, input, names.cli)) };
}

/** Whether a folder is a clone of a transport in which this machine has not served anybody yet. */
async function isUnserved(
  surroundings: Surroundings,
  dir: string,
  { remote, note }: InitInput,
): Promise<boolean> {
  if (remote !== undefined || !atTop(dir, VERSION_FILE) || !atTop(dir, '.git')) return false;
  return withContext(surroundings, { transport: dir, note }, async ({ paths }) => {
    return (await loadApprovals(paths.approvals)).alias === undefined;
  });
}

function atTop(dir: string, name: string): boolean {
  return atPath(join(dir, name), { follow: true }) !== undefined;
}

/**
 * Returns the remote of a clone of an empty repository, in which the transport is created; undefined for
 * another folder.
 */
async function emptyClone(
  { env }: Surroundings,
  { remote }: InitInput,
  dir: string,
): Promise<{ url: string; branch: string; isSha256: boolean } | undefined> {
  const names = await readdir(dir).catch(() => []);
  if (remote !== undefined || names.length !== 1 || names[0] !== '.git') return undefined;
  const clone = await findClone(dir);
  const head = await headOf(clone);
  const settings = (await readClone(new Git(dir, env), clone)).map(({ setting }) => setting);
  const url = valueOf(settings, 'remote.origin.url');
  if (url === undefined || head === undefined || (await readRef(clone, head)) !== undefined)
    return undefined;
  const place = remoteUrl(url, dir);
  const state = await inspectRemote(place, dir, env);
  if (state.kind !== 'empty') return undefined;
  return { url: place, branch: head.replace('refs/heads/', ''), isSha256: state.isSha256 };
}

/** @throws CrosstalkError `refused` for a clone of a repository with another purpose */
async function assertTransport({ env }: Surroundings, dir: string, remote: string): Promise<void> {
  const { transport } = await openTransport(dir, env, { isMade: true });
  try {
    const tip = await transport.tip();
    const version = await transport.objects.read(`${tip ?? ''}:${VERSION_FILE}`);
    if (version !== undefined) return;
    throw new CrosstalkError(
      'refused',
      `${redact(remote)} is not a transport: its branch ${transport.branch} has commits, but no ${VERSION_FILE}; a transport needs a repository of its own: make an empty one, and name that with --remote`,
    );
  } finally {
    transport.close();
  }
}

function checkInput({ alias, actor, channel, cli, window }: InitInput): void {
  if (window !== undefined) daysOf(window);
  for (const [option, value] of Object.entries({ alias, actor }))
    if (value !== undefined && !isName(value))
      throw new CrosstalkError(
        'usage',
        `--${option} ${shown(value)} is not a name (letters, digits, . _ -, at most 64, a letter or digit first); choose another`,
      );
  if (actor === EVERYONE)
    throw new CrosstalkError('usage', `--actor ${EVERYONE} means everybody; choose another name`);
  const problem = channel === undefined ? undefined : channelNameProblem(channel);
  if (problem !== undefined)
    throw new CrosstalkError('usage', `--channel: ${problem}; choose another`);
  if (cli?.trim() === '')
    throw new CrosstalkError(
      'usage',
      '--cli is empty; give a command line, or one of: ' +
        KNOWN_AGENTS.map(({ name }) => name).join(', '),
    );
}

async function emptyAgain(dir: string, made: string | undefined): Promise<void> {
  if (made !== undefined) await rm(made, { recursive: true, force: true });
  else
    for (const name of await readdir(dir))
      await rm(join(dir, name), { recursive: true, force: true });
}

/** Resolves a path against the folder of the command; anything that looks like a URL is unchanged. */
function remoteUrl(remote: string, cwd: string): string {
  return /^\w+:\/\//.test(remote) || /^[^/]+:/.test(remote) ? remote : resolve(cwd, remote);
}

/**
 * Chooses the command: `--cli`, or the headless command of a known agent if it is named; otherwise that
 * of the first known agent on the PATH.
 */
async function chooseCli(
  { env, cwd }: Surroundings,
  { cli, note }: InitInput,
): Promise<{ cli: string }> {
  if (cli !== undefined) {
    await noteMissingProgram({ env, cwd, note }, headlessCommand(cli));
    return { cli: headlessCommand(cli) };
  }
  const found = await firstOnPath(
    KNOWN_AGENTS.map(({ name }) => name),
    env['PATH'] ?? '',
  );
  const agent = found === undefined ? undefined : knownAgent(found);
  if (agent !== undefined) return { cli: agent.headless };
  note(
    `no known agent CLI found on the PATH, so the host file says "${FALLBACK}"; change it with: crosstalk actor set <name> cli=<command>`,
  );
  return { cli: headlessCommand(FALLBACK) };
}

/** Finds the nearest existing folder above, without symlinks. */
async function realParent(dir: string): Promise<string> {
  for (let at = dirname(dir); ; at = dirname(at)) {
    const real = await realpath(at).catch(() => undefined);
    if (real !== undefined || at === dirname(at)) return real ?? at;
  }
}

/**
 * Makes sure that a new transport has a place: a folder that does not exist or is empty, outside of any
 * other transport.
 *
 * @throws CrosstalkError `refused`
 */
async function assertRoom(dir: string): Promise<void> {
  const around = transportAround(await realParent(dir));
  if (around !== undefined)
    throw new CrosstalkError(
      'refused',
      `${dir} lies inside the transport ${around}, and one inside another is of no use; name a folder outside: crosstalk init <dir>`,
    );
  let entries: string[];
  try {
    entries = await readdir(dir);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    if (hasCode(error, 'ENOTDIR'))
      throw new CrosstalkError('refused', `${dir} is not a folder; name another`);
    throw unusable(dir, error);
  }
  if (entries.includes('upstream')) {
    throw new CrosstalkError(
      'refused',
      `${dir} is a transport already; use it with: crosstalk status --transport ${dir}`,
    );
  }
  if (entries.length === 1 && entries[0] === '.git') {
    throw new CrosstalkError(
      'refused',
      `${dir} is a git repository without a commit, whose remote has some; get them first with: git pull`,
    );
  }
  if (entries.length > 0) {
    throw new CrosstalkError(
      'refused',
      `${dir} is not empty, it holds ${shown(entries[0])}; name a new or empty folder: crosstalk init <dir>`,
    );
  }
}

/** Converts a system error to one that says that no transport can be created here. */
function unusable(dir: string, error: unknown): unknown {
  const { syscall } = error as { syscall?: unknown };
  if (error instanceof CrosstalkError || typeof syscall !== 'string') return error;
  return new CrosstalkError(
    'refused',
    `cannot make a transport at ${dir}: ${reasonOf(error)}; name another folder, or make this one yours and give it room: crosstalk init <dir>`,
    { cause: error },
  );
}
