import { realpath, rm } from 'node:fs/promises';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { redact } from '../../transport/git/failure.ts';
import { inspectRemote, makeClone } from '../../transport/clone/setup.ts';
import { linkProject } from '../../state/registry.ts';
import { stateHome } from '../../state/directory.ts';
import { PINNED } from '../../protocol/accepted.ts';
import { makeFolder } from '../../folder.ts';
import type { Context } from '../context.ts';
import type { Surroundings } from '../locate.ts';
import { bringInto, create } from './create.ts';
import type { Initialised, InitInput } from './input.ts';
import { join } from './join.ts';
import type { ProjectPlan } from './project.ts';
import {
  assertMayCarry,
  assertOriginal,
  busAt,
  refusesRef,
  sayIfPublic,
} from './project-remote.ts';
import { chooseSandbox, fitsSandbox } from './sandbox-option.ts';
import type { TierSlot } from './tier-slot.ts';
import { choosePlace } from './workdir-option.ts';

/** Settings by which git starts a program. */
const RUNS = /^core\.(?:sshcommand|askpass)$|^credential\..*helper$/;

type Settings = TierSlot & { actor: string; from?: string };

/**
 * Makes the bus of a project at the project's own remote, or joins the one that is there. Of the project itself
 * nothing is written.
 *
 * @param made what was found out and chosen so far; the folder of the clone exists and is empty
 * @throws CrosstalkError `refused` where the remote may not or does not carry it
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
  // Before the first push: after an end in between, the bus is found here, and not joined as another machine.
  const link = async (): Promise<void> => {
    await linkProject(stateHome(surroundings.env), project.commonDir, await realpath(dir));
  };
  let made: Initialised;
  if (isThere && found !== undefined && url !== undefined) {
    const { isSha256, isDumb } = found;
    await makeClone(
      { url, branch, isSha256, isDumb, project: inside },
      dir,
      top,
      surroundings.env,
      {
        from: settings.from,
        window: input.window === 'all' ? undefined : input.window,
      },
    );
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
      // Before the question, which somebody may break off: this process then ends at once.
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

/** Where the actor works: in a copy of the project for each thread, unless something else is said. */
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

/** A sandbox where this machine can make one, unless it is declined: whoever can push to a project may be many. */
async function sandboxIn(
  surroundings: Surroundings,
  input: InitInput,
  cli: string,
): Promise<Pick<TierSlot, 'sandbox'>> {
  if (input.wantsSandbox !== undefined) return chooseSandbox(surroundings, input, cli);
  return (await fitsSandbox(surroundings, cli)) ? { sandbox: 'default' } : {};
}

/** Says who can read and who can ask, before anything is pushed. */
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
 * The first push of a bus.
 *
 * @throws CrosstalkError `git_failed`, with `ref_refused` where the remote does not take such a ref
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
