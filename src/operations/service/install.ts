import { chmod, chown, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import type { ServiceState } from '../../service/state.ts';
import { stepsOf } from '../../service/steps.ts';
import { writeDurably } from '../../state/files.ts';
import { holderOf } from '../../state/lock.ts';
import type { Context } from '../context.ts';
import { serviceState, take, untilServing } from './control.ts';
import type { Machine } from './machine.ts';
import type { InstallInput, InstallPlan, PlannedFile } from './plan.ts';

type ServicePlan = Extract<InstallPlan, { kind: 'service' }>;

/** The result of an installation; `state` is null when it was not started, and `reason` says why. */
export interface Installation {
  name: string;
  file: string;
  state: ServiceState | null;
  reason?: string;
}

/** Executes a plan: writes the files, enables the service, and starts it unless the input says otherwise. */
export async function install(
  context: Context,
  machine: Machine,
  input: InstallInput,
  plan: ServicePlan,
  signal?: AbortSignal,
): Promise<Installation> {
  const { target, former } = plan;
  for (const old of former) {
    await take(machine, old, stepsOf(old, 'uninstall'), signal);
    await rm(old.file, { force: true });
  }
  for (const file of plan.files) await write(file, input.system);
  const made = { name: target.name, file: target.file };
  const other = await startedOtherwise(context, machine, target);
  if (!input.start || other !== undefined) {
    await take(machine, target, stepsOf(target, 'installOnly'), signal);
    const reason = other ?? 'it was not to be started';
    return { ...made, state: null, reason };
  }
  await take(machine, target, plan.steps, signal);
  return { ...made, state: await untilServing(context, machine, target, signal) };
}

/**
 * Returns the reason not to start the service when a dispatcher that it did not start runs already: two
 * dispatchers of one clone would only block each other.
 */
async function startedOtherwise(
  { paths }: Context,
  machine: Machine,
  target: ServicePlan['target'],
): Promise<string | undefined> {
  const holder = await holderOf(paths.root, 'dispatcher');
  if (holder === undefined || (await serviceState(machine, target)).pid === holder.pid)
    return undefined;
  return `a dispatcher runs here already, process ${String(holder.pid)}; end it, then: crosstalk service start`;
}

async function write(
  { path, mode, content }: PlannedFile,
  owner: InstallInput['system'],
): Promise<void> {
  try {
    await makeFolder(dirname(path), 0o755);
    await writeDurably(path, content);
    await chmod(path, mode);
    // These files belong to the user, so that the next installation does not need root.
    if (owner !== undefined && mode === 0o600)
      for (const one of [dirname(path), path]) await chown(one, owner.uid, owner.gid);
  } catch (error) {
    const todo = hasCode(error, 'EACCES') ? 'run it with sudo' : 'fix that, and try again';
    throw new CrosstalkError('refused', `cannot write ${path}: ${reasonOf(error)}; ${todo}`, {
      cause: error,
    });
  }
}
