import { realpath, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { shellWord } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { redact } from '../../transport/git/failure.ts';
import { inspectRemote, makeClone, type RemoteState } from '../../transport/clone/setup.ts';
import { linkProject } from '../../state/registry.ts';
import { stateHome } from '../../state/directory.ts';
import { PINNED } from '../../protocol/accepted.ts';
import { makeFolder } from '../../folder.ts';
import { type Context, openTransport } from '../context.ts';
import type { Surroundings } from '../locate.ts';
import { bringInto, create } from './create.ts';
import type { Initialised, InitInput } from './input.ts';
import { join } from './join.ts';
import { type ProjectPlan, plainName, PUSH_URL } from './project.ts';
import { chooseSandbox, fitsSandbox, choosePlace } from './workdir-option.ts';
import type { TierSlot } from './starter-files.ts';
import { IDENTITY_FILE, VERSION_FILE } from '../../protocol/layout.ts';
import { identityIn } from '../../protocol/signed.ts';
import { askAsAnyone } from '../../transport/clone/access.ts';
import { PROJECT_REF } from '../../transport/clone/branches.ts';
import { BRANCH_OF_PROJECT } from '../../transport/clone/handle.ts';
import { placeOfRemote } from '../../transport/clone/bus-identity.ts';
import { valueOf } from '../../transport/clone/settings.ts';

/** Settings by which git starts a program. */
const RUNS = /^core\.(?:sshcommand|askpass)$|^credential\..*helper$/;

type Settings = TierSlot & { actor: string; from?: string };

/**
 * Creates the bus of a project at the project's own remote, or joins the one that is there. Nothing is
 * written into the project itself.
 *
 * @param made the earlier findings and choices; the folder of the clone exists and is empty
 * @throws CrosstalkError `refused` when the remote may not or does not carry it
 */
export async function inProject(
  surroundings: Surroundings,
  input: InitInput,
  { project, settings }: { project: ProjectPlan; settings: Settings },
): Promise<Initialised> {
  const { url, clone: dir, top } = project;
  for (const [name, value] of project.settings)
    if (RUNS.test(name))
      input.note(`git for the bus runs what the project's ${name} says: ${shown(value)}`);
  const found = await stateOf(surroundings, project);
  const bus = busAt(found, input);
  const place = await placeIn(surroundings, input, project);
  const sandbox = await sandboxIn(surroundings, input, settings.cli);
  const slot: Settings = {
    ...settings,
    ...place,
    ...sandbox,
    ...(input.isOpen !== true && { onlyFrom: [PINNED] }),
  };
  const { isThere, branch, ...rest } = bus;
  if (input.join !== undefined && !isThere)
    throw new CrosstalkError(
      'refused',
      `there is no bus at ${redact(url ?? '')} that could be joined; without --join one is made at the project's own remote`,
    );
  const inside = { ...rest, settings: project.settings };
  // This comes before the first push: after a crash in between, the bus is found here, and not joined as
  // another machine.
  const link = async (): Promise<void> => {
    await linkProject(stateHome(surroundings.env), project.commonDir, await realpath(dir));
  };
  let made: Initialised;
  if (isThere && found !== undefined && url !== undefined) {
    const { isSha256, isDumb } = found;
    const window = input.window === 'all' ? undefined : input.window;
    const wanted = { branch, project: inside, from: settings.from, window };
    const remote = { url, isSha256, isDumb };
    await makeClone({ ...wanted, remote }, dir, top, surroundings.env);
    const failure = await bringInto(dir, surroundings);
    if (failure !== undefined)
      throw new CrosstalkError(
        'git_failed',
        `cannot fetch the bus from ${redact(url)}: ${failure.reason}; check your access`,
      );
    await assertOriginal(surroundings, project, input);
    await sayIfPublic(surroundings, project, input);
    sayWho(input, project);
    await link();
    if (project.before !== undefined)
      input.note(
        `the bus of the project until now stays in ${project.before}, with what is queued there; it is reached with: crosstalk status --transport ${project.before}`,
      );
    made = await join(surroundings, { ...input, ...slot, dir: await realpath(dir) });
  } else {
    await assertMayCarry(surroundings, project, input);
    sayWho(input, project);
    const remote = found && url !== undefined ? { ...found, url, branch } : undefined;
    made = await create(surroundings, { ...input, ...slot }, dir, remote, {
      project: inside,
      branch,
      push: async (context) => {
        await link();
        return firstPush(context, bus.ref);
      },
    }).catch(async (error: unknown) => {
      const reason = error instanceof CrosstalkError ? error.data['ref_refused'] : undefined;
      if (typeof reason !== 'string' || input.askBranch === undefined) throw error;
      // This comes before the question, which somebody may interrupt: this process then ends immediately.
      await rm(dir, { recursive: true, force: true });
      if (!(await input.askBranch(reason))) throw error;
      await makeFolder(dir, 0o700);
      return inProject(surroundings, { ...input, asBranch: true }, { project, settings });
    });
    if (made.project !== undefined) return made;
  }
  if (url === undefined) await link();
  if (input.isOpen !== true)
    await input.sign?.(made.dir).catch((error: unknown) => {
      input.note(
        `${made.actor} serves nobody yet: ${reasonOf(error)}; make a key with: crosstalk key create, and pin it: crosstalk key pin <your name> ~/.ssh/crosstalk_ed25519`,
      );
    });
  return {
    ...made,
    project: {
      top,
      ref: bus.ref ?? `refs/heads/${branch}`,
      ...(url !== undefined && { remote: redact(url) }),
    },
  };
}

async function stateOf({ env }: Surroundings, { url, top, settings }: ProjectPlan) {
  if (url === undefined) return undefined;
  const state = await inspectRemote(url, top, env, settings);
  if (state.kind !== 'failed') return state;
  throw new CrosstalkError(
    'git_failed',
    `cannot use the project's remote ${redact(url)}: ${state.failure.reason}; check the address and your access`,
  );
}

/** Determines the place of the actor's work: a copy of the project for each thread by default. */
function placeIn(
  surroundings: Surroundings,
  input: InitInput,
  { worktree, clone }: ProjectPlan,
): Promise<Pick<TierSlot, 'workdir' | 'worktree'>> {
  const isSaid =
    input.hasNoPlace === true || input.workdir !== undefined || input.worktree !== undefined;
  return choosePlace(
    surroundings,
    { ...input, ...(!isSaid && worktree !== undefined && { worktree }) },
    clone,
  );
}

/**
 * Chooses a sandbox if this machine can make one, unless it is declined: many people may be able to push
 * to a project.
 */
async function sandboxIn(
  surroundings: Surroundings,
  input: InitInput,
  cli: string,
): Promise<Pick<TierSlot, 'sandbox'>> {
  if (input.wantsSandbox !== undefined) return chooseSandbox(surroundings, input, cli);
  return (await fitsSandbox(surroundings, cli)) ? { sandbox: 'default' } : {};
}

/** Notes who can read and who can ask, before anything is pushed. */
function sayWho({ isOpen, note }: InitInput, { url }: ProjectPlan): void {
  if (url === undefined) return;
  note(`everybody who can read ${redact(url)} can read the bus`);
  note(
    isOpen === true
      ? `everybody who can push to it may ask this machine's actor: all its developers, and every token and bot that may push`
      : `this machine's actor serves only whoever signs with a key that is pinned here: you, and others after: crosstalk key pin <name> <key>`,
  );
}

/**
 * Makes the first push of a bus.
 *
 * @throws CrosstalkError `git_failed`, with `ref_refused` when the remote does not accept such a ref
 */
async function firstPush({ transport }: Context, ref: string | undefined): Promise<boolean> {
  const failure = await transport.pushTip('anew');
  if (failure === undefined) return (await transport.refresh()).ok;
  const isRefused = ref !== undefined && refusesRef(failure.kind);
  const where = redact(transport.origin ?? '');
  if (failure.kind === 'behind')
    throw new CrosstalkError(
      'git_failed',
      `somebody has made the bus at ${where} at the same moment; join it with: crosstalk init`,
    );
  throw new CrosstalkError(
    'git_failed',
    isRefused
      ? `${where} does not take the ref ${ref}: ${failure.reason}; nothing was made. A branch that everybody sees works too: crosstalk init --as-branch, or a repository of its own: crosstalk init <dir> --remote <url>`
      : `cannot push to ${where}: ${failure.reason}; nothing was made. Use a repository that you can push to: crosstalk init <dir> --remote <url>`,
    { data: { ...(isRefused && { ref_refused: failure.reason }) } },
  );
}

/** Determines the bus at the project's remote: its ref, its branch, or none. */
function busAt(
  state: Exclude<RemoteState, { kind: 'failed' }> | undefined,
  { asBranch }: Pick<InitInput, 'asBranch'>,
): { branch: string; ref?: string; isThere: boolean } {
  if (state?.bus === undefined && (state?.hasBusBranch === true || asBranch === true))
    return { branch: BRANCH_OF_PROJECT, isThere: state?.hasBusBranch === true };
  return { branch: 'bus', ref: PROJECT_REF, isThere: state?.bus !== undefined };
}

/**
 * Makes sure that a project's remote may carry a new bus, before anything is pushed to it.
 *
 * @throws CrosstalkError `refused` when everybody can read it
 */
async function assertMayCarry(
  { env }: Surroundings,
  { url, top, settings }: ProjectPlan,
  input: Pick<InitInput, 'isPublic' | 'askPublic' | 'note'>,
): Promise<void> {
  if (url === undefined) return;
  for (const address of new Set([url, valueOf(settings, PUSH_URL) ?? url]))
    await assertMayBeRead(address, { env, top }, input);
}

async function assertMayBeRead(
  url: string,
  { env, top }: { env: NodeJS.ProcessEnv; top: string },
  input: Pick<InitInput, 'isPublic' | 'askPublic' | 'note'>,
): Promise<void> {
  const asked = await askAsAnyone(url, env);
  const place = redact(url);
  if (asked.kind === 'unknown')
    input.note(
      `whether everybody can read ${place} could not be found out (${asked.reason}); whoever can read it can read every message`,
    );
  if (asked.kind !== 'answers') return;
  const name = plainName(basename(url).replace(/\.git$/, '') || top);
  const isMeant = input.isPublic === true && (await input.askPublic?.(name)) !== false;
  if (isMeant) return;
  throw new CrosstalkError(
    'refused',
    `everybody can read this: ${redact(asked.address)} answers without a login, and would show every message; nothing was pushed. Use a private repository of its own: crosstalk init <dir> --remote <url>, or --public if everybody may read`,
  );
}

/** Notes that everybody can read a bus that is joined, if that is so. */
async function sayIfPublic(
  { env }: Surroundings,
  { url }: Pick<ProjectPlan, 'url'>,
  { note }: Pick<InitInput, 'note'>,
): Promise<void> {
  const asked = url === undefined ? undefined : await askAsAnyone(url, env);
  if (asked?.kind === 'answers')
    note(
      `everybody can read this: ${redact(asked.address)} answers without a login, and shows every message`,
    );
}

/**
 * Makes sure that the bus just cloned belongs to this remote: a fork or a mirror carries a copy, in which
 * old questions would be answered a second time. Nor may it be the one that the project already has.
 *
 * @throws CrosstalkError `refused`
 */
async function assertOriginal(
  { env }: Surroundings,
  { url, clone, top, before }: ProjectPlan,
  { join: joined }: Pick<InitInput, 'join'>,
): Promise<void> {
  const known = before === undefined ? undefined : await idOf(before, env);
  const { transport } = await openTransport(clone, env, { isMade: true });
  try {
    const tip = (await transport.tip()) ?? '';
    const version = await transport.objects.read(`${tip}:${VERSION_FILE}`);
    const where = redact(url ?? '');
    if (version === undefined)
      throw new CrosstalkError(
        'refused',
        `${transport.remoteRef} at ${where} is not a bus of crosstalk: it has no ${VERSION_FILE}; see who has put it there, or use another remote with --remote <name>`,
      );
    const text = (await transport.objects.text(tip, IDENTITY_FILE)) ?? '';
    const [id, made] = identityIn(text)?.whole.split(' ') ?? [];
    if (before !== undefined && id === known)
      throw new CrosstalkError('refused', `the bus at ${where} is here already, in ${before}`);
    const here = placeOfRemote(url, top);
    if (joined !== undefined || made === undefined || made === '-' || made === here) return;
    throw new CrosstalkError(
      'refused',
      `the bus at ${where} was made for ${shown(made)}, and is a copy here, as in a fork or a mirror; nothing was joined. Join the original with: crosstalk init --join <its address>, which may be another address of this repository; to begin a bus of its own in a fork, this takes the copy away: git push ${shellWord(where)} --delete ${transport.remoteRef}; then: crosstalk init`,
    );
  } finally {
    transport.close();
  }
}

/** Returns the id of the transport in a clone; undefined without one. */
async function idOf(clone: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { transport } = await openTransport(clone, env);
  try {
    const text = await transport.objects.text((await transport.tip()) ?? '', IDENTITY_FILE);
    return identityIn(text ?? '')?.id;
  } finally {
    transport.close();
  }
}

/** Whether a failure means that the remote does not accept such a ref, rather than no push at all. */
function refusesRef(kind: string): boolean {
  return kind === 'rejected' || kind === 'other' || kind === 'refused';
}
