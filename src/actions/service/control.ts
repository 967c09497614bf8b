import { rm, chmod, chown } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { shellWord } from '../../service/files.ts';
import { stateOf, type ServiceState } from '../../service/state.ts';
import { question, stepsOf, type ManagerCall, type Target } from '../../service/steps.ts';
import { holderOf } from '../../state/lock.ts';
import type { Context } from '../context.ts';
import type { Machine } from './machine.ts';
import { environmentOf, type InstalledService, theService } from './target.ts';
import { dirname } from 'node:path';
import { makeFolder } from '../../folder.ts';
import { writeDurably } from '../../state/files.ts';
import type { InstallInput, InstallPlan, PlannedFile } from './plan.ts';

/** Milliseconds that a service may take to start serving, or to end. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

/** Returns the current state of a service, according to the service manager. */
export async function serviceState(machine: Machine, target: Target): Promise<ServiceState> {
  const answer = await machine.run(question(target));
  return stateOf(target.kind, answer.code === 0 ? answer.stdout : undefined);
}

/**
 * Executes steps of the service manager one after another.
 *
 * @throws CrosstalkError `refused` with the manager's message
 */
async function take(
  machine: Machine,
  target: Target,
  steps: readonly ManagerCall[],
  signal?: AbortSignal,
): Promise<void> {
  for (const { argv, mayFail, untilGone } of steps) {
    const { code, stderr, stdout } = await machine.run(argv);
    if (code !== 0 && mayFail !== true) throw refused(machine, argv, stderr || stdout);
    if (untilGone !== true) continue;
    await settled(signal, async () => (await machine.run(question(target))).code !== 0);
  }
}

function refused(machine: Machine, argv: readonly string[], said: string): CrosstalkError {
  const line = argv.map(shellWord).join(' ');
  const reason = said.trim().split('\n')[0] ?? '';
  const isSystem = argv[0] === 'systemctl' && argv[1] !== '--user';
  const todo =
    isSystem && machine.uid !== 0
      ? `a service of the system is for root; run it with sudo`
      : /bus|XDG_RUNTIME_DIR|medium/i.test(reason)
        ? 'your session has no service manager of its own: log in as this user (not by su or sudo)'
        : `try it by hand, and look at: crosstalk service status`;
  return new CrosstalkError('refused', `${line}: ${reason || 'failed'}; ${todo}`);
}

/**
 * Waits until a condition is true.
 *
 * @returns false when it does not become true in time
 */
async function settled(
  signal: AbortSignal | undefined,
  probe: () => Promise<boolean>,
): Promise<boolean> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await probe())) {
    if (performance.now() > deadline) return false;
    await sleep(LOOK_MS, undefined, { ...(signal && { signal }) });
  }
  return true;
}

/**
 * Waits until the service's dispatcher serves.
 *
 * @throws CrosstalkError `internal` when it ends instead, or takes too long
 */
async function untilServing(
  context: Context,
  machine: Machine,
  target: Target,
  signal?: AbortSignal,
): Promise<ServiceState> {
  let state = await serviceState(machine, target);
  const serving = await settled(signal, async () => {
    state = await serviceState(machine, target);
    if (['failed', 'stopped'].includes(state.state) || (state.restarts ?? 0) > 1) return true;
    const holder = await holderOf(context.paths.root, 'dispatcher');
    return state.pid !== null && holder?.pid === state.pid;
  });
  if (serving && state.state === 'running') return state;
  const how = state.exit_code === null ? '' : ` (exit code ${String(state.exit_code)})`;
  throw new CrosstalkError(
    'internal',
    `${target.name} is ${state.state}${how} and serves no mail; see: crosstalk logs, ${logOf(target)}`,
  );
}

/** Returns the place where a service manager stores the output of a program before the program has its own log. */
function logOf({ kind, name }: Target): string {
  if (kind === 'launchd') return 'the file service.err beside the log';
  return `journalctl ${kind === 'systemd-user' ? '--user ' : ''}-u ${name}`;
}

/** Starts the service, and waits until it serves. */
export async function startService(
  context: Context,
  machine: Machine,
  signal?: AbortSignal,
): Promise<Target & ServiceState> {
  const target = await theService(context, machine);
  const before = await serviceState(machine, target);
  if (before.state !== 'running') {
    await refuseSecond(context, target);
    await take(machine, target, stepsOf(target, 'start'), signal);
  }
  return { ...target, ...(await untilServing(context, machine, target, signal)) };
}

/**
 * Ensures that no dispatcher runs here that was started in another way.
 *
 * @throws CrosstalkError `locked` when one does
 */
async function refuseSecond({ paths }: Context, { name }: Target): Promise<void> {
  const holder = await holderOf(paths.root, 'dispatcher');
  if (holder === undefined) return;
  throw new CrosstalkError(
    'locked',
    `a dispatcher runs here that ${name} did not start: process ${String(holder.pid)}, since ${holder.since}; end it, then: crosstalk service start`,
  );
}

/** Stops the service until it is started again, or until the machine restarts. */
export async function stopService(
  context: Context,
  machine: Machine,
  signal?: AbortSignal,
): Promise<Target & ServiceState> {
  const target = await theService(context, machine);
  await take(machine, target, stepsOf(target, 'stop'), signal);
  return { ...target, ...(await serviceState(machine, target)) };
}

/** Result of an uninstallation: the removed files, and those that stay. */
export interface Uninstalled {
  name: string;
  removed: string[];
  /** The state directory: outbox, dead letters, cursors, log. */
  kept: string;
}

/** Stops the service and removes its files. Messages and state are kept. */
export async function uninstallService(
  context: Context,
  machine: Machine,
  signal?: AbortSignal,
): Promise<Uninstalled> {
  const target = await theService(context, machine);
  await removeService(machine, target, signal);
  const { serviceEnv } = context.paths;
  await remove(serviceEnv);
  const removed = [target.file, serviceEnv];
  return { name: target.name, removed, kept: context.paths.root };
}

/** Stops a service and removes its files. */
export async function removeService(
  machine: Machine,
  service: InstalledService,
  signal?: AbortSignal,
): Promise<void> {
  await take(machine, service, stepsOf(service, 'uninstall'), signal);
  const environment = environmentOf(service);
  for (const file of [service.file, environment]) if (file !== undefined) await remove(file);
  await take(machine, service, stepsOf(service, 'forget'), signal);
}

async function remove(file: string): Promise<void> {
  try {
    await rm(file, { force: true });
  } catch (error) {
    if (!hasCode(error, 'EACCES') && !hasCode(error, 'EPERM')) throw error;
    throw new CrosstalkError('refused', `${file} may not be removed; run it with sudo`, {
      cause: error,
    });
  }
}

type ServicePlan = Extract<InstallPlan, { kind: 'service' }>;

/** The result of an installation; `state` is null when it was not started, and `reason` says why. */
interface Installation {
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
