import { DEFAULTS, type InitInput, type Initialised } from './input.ts';
import { readdir, realpath, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Checkout } from '../../bus/checkout.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { headlessCommand, KNOWN_AGENTS, knownAgent } from '../../agents/agents.ts';
import { channelNameProblem } from '../../protocol/files/channel.ts';
import { hostFile, VERSION_FILE } from '../../protocol/layout.ts';
import { isName, toName } from '../../protocol/names.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { shown } from '../../protocol/text/result.ts';
import { redact } from '../../transport/git/failure.ts';
import {
  defaultBranch,
  inspectRemote,
  makeClone,
  makeRepository,
} from '../../transport/clone/setup.ts';
import type { Failure } from '../../transport/transport.ts';
import { approveWritten } from './approvals.ts';
import { openTransport, withContext, type Context } from '../context.ts';
import { join as joinTransport } from './join.ts';
import type { Surroundings } from '../locate.ts';
import { assertNoSecret } from '../screening.ts';
import { daysOf } from '../sync.ts';
import { firstOnPath } from '../path.ts';
import { hostText, newActor, newChannel, newIdentity } from './starter-files.ts';
import { chooseSandbox } from './sandbox-option.ts';
import { noteMissingProgram } from './missing-program.ts';
import { slotIn, type TierSlot } from './tier-slot.ts';
import { templateFiles } from './template.ts';
import { assertRoom, unusable } from './room.ts';
import { timeAndChanceOf } from '../time-and-chance.ts';
import { choosePlace } from './workdir-option.ts';
import { chooseWriter } from './writer.ts';

/** The agent CLI of a host file if none is on the PATH. */
const FALLBACK = 'claude';

/**
 * Creates a transport in one of three situations: new and local, new with an empty remote, or
 * joining the transport at the remote from another machine.
 *
 * @throws CrosstalkError `refused` for a folder that is not empty; nothing is written then
 */
export async function init(surroundings: Surroundings, asGiven: InitInput): Promise<Initialised> {
  const dir = resolve(surroundings.cwd, asGiven.dir ?? '.');
  checkInput(asGiven);
  await assertRoom(dir);
  const input = { ...asGiven, ...(await asGiven.converse?.(dir)) };
  const made = await makeFolder(dir).catch((error: unknown) => {
    throw unusable(dir, error);
  });
  try {
    const settings: TierSlot & { actor: string; from?: string } = {
      ...(await chooseCli(surroundings, input)),
      actor: input.actor ?? DEFAULTS.actor,
    };
    const from = await chooseWriter(surroundings, { ...input, actor: settings.actor });
    if (from !== undefined) settings.from = from;
    const place = await choosePlace(surroundings, input, dir);
    Object.assign(settings, place, await chooseSandbox(surroundings, input, settings.cli));
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
      const { env } = surroundings;
      await makeClone({ ...state, url: remote }, dir, dirname(dir), env, {
        from,
        window: input.window === 'all' ? undefined : input.window,
      });
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
    await emptyAgain(dir, made);
    throw unusable(dir, error);
  }
}

async function create(
  surroundings: Surroundings,
  input: InitInput & TierSlot & { actor: string },
  dir: string,
  remote: { url: string; branch: string | undefined; isSha256: boolean } | undefined,
): Promise<Initialised> {
  const alias = input.alias ?? toName(hostname()) ?? 'host';
  const channel = input.channel ?? DEFAULTS.channel;
  const from = input.from ?? toName(input.login) ?? 'operator';
  const files = await templateFiles();
  files.push(...newActor(input.actor, files));
  files.push({
    path: hostFile(alias),
    content: hostText(alias, hostname(), input.actor, slotIn(input)),
  });
  const chance = timeAndChanceOf(surroundings);
  files.push(newIdentity(remote?.url, dir, chance), newChannel(channel, from, chance));
  await assertNoSecret(files);
  await makeRepository(dir, surroundings.env, {
    branch: remote?.branch ?? (await defaultBranch()),
    from: input.from,
    ...(remote === undefined ? {} : { remote }),
  });
  const { transport } = await openTransport(dir, surroundings.env, { isMade: true });
  try {
    const author = authorOf(from, alias);
    const at = chance.now().toISOString();
    await transport.begin({ at, author, subject: 'crosstalk: a new transport', files });
  } finally {
    transport.close();
  }
  const result = {
    dir: await realpath(dir),
    alias,
    actor: input.actor,
    ...(input.from !== undefined && { from: input.from }),
    ...slotIn(input),
    channel,
    joined: false,
  };
  return {
    ...result,
    pushed: await withContext(
      surroundings,
      { transport: dir, note: input.note },
      async (context) => {
        await context.transport.identity();
        await approveWritten(context, alias, input.actor, 'default', slotIn(input), {
          joins: true,
        });
        return remote !== undefined && push(context);
      },
    ),
  };
}

/** Fetches the bus into a new clone; returns the failure, if any. */
async function bringInto(dir: string, surroundings: Surroundings): Promise<Failure | undefined> {
  const { transport } = await openTransport(dir, surroundings.env, { isMade: true });
  const { now } = timeAndChanceOf(surroundings);
  try {
    const failure = await transport.bring();
    // One fetch brings all files; reading them one by one would take a connection each.
    if (failure === undefined) await new Checkout(transport, now).follow();
    return failure;
  } finally {
    transport.close();
  }
}

/** @throws CrosstalkError `refused` for a clone of a repository that is used for something else */
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

/** Makes the first push; after a failure the local transport works and is pushed later. */
async function push({ transport, note }: Context): Promise<boolean> {
  const pushed = await transport.refresh();
  if (!pushed.ok)
    note(
      `the transport is made, but not pushed: ${pushed.failure.reason}; push it with: crosstalk sync`,
    );
  return pushed.ok;
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
 * `--cli`, or the headless command of a known agent if it is named; otherwise that of the first
 * known agent on the PATH.
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
