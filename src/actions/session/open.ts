import { join } from 'node:path';
import { withoutDispatch } from '../../agents/dispatch-variables.ts';
import { activate } from '../../bus/approvals.ts';
import {
  withoutOurs,
  gitGuards,
  workplaceOf,
  type Workplace,
} from '../../dispatcher/run/workplace.ts';
import { profileInForce } from '../../bus/profiles.ts';
import { knownActors } from '../setup/actors.ts';
import { CrosstalkError } from '../../errors.ts';
import { agentOf, KNOWN_AGENTS } from '../../agents/agents.ts';
import { namesVariable } from '../../agents/command-line.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { OPERATOR_FILE, PROTOCOL_FILE, isName } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { HEADINGS, quoted } from '../../protocol/text/structure.ts';
import { approvingIn, knownHost } from '../setup/approvals.ts';
import { tipOf, type Context } from '../context.ts';
import { thisHost } from '../setup/hosts.ts';
import { firstOnPath } from '../locate.ts';
import { nonEmpty, resolveFrom } from '../lookup/resolve.ts';
import { prepareBin } from '../shim.ts';
import { startInteractiveSession } from './start.ts';
import { bringBack, leaveWorktree, openWorktree } from '../../dispatcher/run/worktree.ts';
import { emptySubmodules } from '../../dispatcher/sandbox/submodules.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { someOf } from '../../protocol/text/words.ts';
import { runPlain } from '../../runner/plain-session.ts';
import { Workspaces } from '../../state/workspaces.ts';
import { Worktrees } from '../../state/worktrees.ts';

/**
 * Opens an interactive session as an actor: its CLI without the headless flags, with PROTOCOL.md and the
 * actor's profile. A changed command is held, as it is in a dispatcher (protocol.md §6).
 *
 * @returns the exit code of the CLI
 */
export async function openActor(
  context: Context,
  input: { actor: string; tier?: string; host?: string },
): Promise<number> {
  const { actor } = input;
  const tier = await approvedTier(context, input);
  const tip = await tipOf(context);
  const protocol = (await context.reader.text(tip, PROTOCOL_FILE)) ?? '';
  const { profile, problem } = await profileInForce(context, tip, actor);
  if (problem !== undefined) context.note(problem);
  const role = quoted(profile?.body.trim() ?? '');
  const text = `${quoted(protocol.trim())}\n\n# ${HEADINGS.profile}: ${actor}\n\n${role}\n\nYou are "${actor}" in an interactive session that an operator opened: nothing you print is sent. Talk to the operator, and write to actors with crosstalk send.\n`;
  const { env, paths, transport } = context;
  // A manipulated model has the same limits here as in a run.
  const bin = join(paths.sessions, `actor-${actor}-bin`);
  return inPlaceOf(context, { actor, tier }, async ({ dir }, guards) => {
    await prepareBin(bin, { state: paths.root, transport: transport.dir, actor, workdir: dir });
    return startInteractiveSession(context, {
      name: `actor-${actor}`,
      command: tier.cli,
      text,
      env: {
        ...withoutOurs(env),
        ...guards,
        ...standIns(tier.cli, dir),
        CROSSTALK_FROM: actor,
        CROSSTALK_WORKDIR: dir,
      },
      recipient: actor,
      otherwise: `install it, or change the command with: crosstalk actor set ${actor} --tier ${tier.name} cli=<command>`,
      cwd: dir,
      bin,
    });
  });
}

/**
 * Returns values for the variables of a run's directories that a command names: a session has no such
 * directory, and codex does not accept an empty value.
 */
function standIns(command: string, dir: string): NodeJS.ProcessEnv {
  const named = ['CROSSTALK_RUN_DIR', 'CROSSTALK_STATE_DIR'].filter((name) =>
    namesVariable(command, name),
  );
  return Object.fromEntries(named.map((name) => [name, dir]));
}

/** Returns the approved tier in which a session runs. */
async function approvedTier(
  context: Context,
  { actor, tier: wanted, host }: { actor: string; tier?: string; host?: string },
): Promise<Tier> {
  const found = await thisHost(context, host);
  const active = await activate(approvingIn(context), found);
  const { alias, held } = active;
  const declared = found.file.actors.get(actor);
  if (declared === undefined) {
    const served = [...found.file.actors.keys()].join(', ');
    throw new CrosstalkError(
      'not_found',
      `the host ${alias} does not serve ${shown(actor)}, it serves ${served}; add it with: crosstalk actor add ${isName(actor) ? actor : '<name>'} --cli <command>`,
    );
  }
  const running = active.actors.get(actor) ?? [];
  const name = wanted ?? (running[0] ?? declared[0])?.name;
  const inForce = running.find((tier) => tier.name === name);
  const change = held.find((one) => one.actor === actor && one.tier === name);
  if (inForce === undefined && change === undefined) {
    throw new CrosstalkError(
      'not_found',
      `${actor} has no tier ${shown(name)}, it has ${declared.map((tier) => tier.name).join(', ')}; choose one of them`,
    );
  }
  if (inForce === undefined) {
    const next =
      change?.refused ?? `accept it with: crosstalk host approve ${change?.digest ?? ''}`;
    throw new CrosstalkError(
      'refused',
      `the command of ${actor} (${name ?? ''}) is new and not approved on this machine: ${shown(change?.proposed)}; see it with: crosstalk host show; ${next}`,
    );
  }
  if (change !== undefined)
    context.note('its command was changed; this is the approved one. See: crosstalk host show');
  return inForce;
}

/**
 * Opens a session of the operator's own agent CLI in operator mode, never as an actor. The CLI is chosen
 * by `--agent`, `CROSSTALK_AGENT`, `git config crosstalk.agent`, or the first known one on the PATH.
 *
 * @returns the exit code of the CLI
 */
export async function attachOperator(
  context: Context,
  input: { agent?: string; login: string },
): Promise<number> {
  const command = await chosenAgent(context, input.agent);
  const text = (await context.reader.text(await tipOf(context), OPERATOR_FILE)) ?? '';
  const env = await operatorEnv(context);
  const recipient = resolveFrom({ ...context, env, dispatch: {} }, undefined, input.login);
  const { paths, cwd } = context;
  await prepareBin(paths.sessionBin);
  return startInteractiveSession(context, {
    name: 'operator',
    command,
    text,
    env: { ...env, CROSSTALK_STATE_DIR: paths.root },
    recipient,
    otherwise: 'name another with --agent <command>, or install it',
    cwd,
    bin: paths.sessionBin,
  });
}

/**
 * Selects the agent CLI of an operator: the configured one; otherwise the first one on the PATH that this
 * machine serves, or else the first known one on the PATH.
 */
async function chosenAgent(context: Context, agent: string | undefined): Promise<string> {
  const { env, transport, note } = context;
  const said =
    nonEmpty(agent) ?? nonEmpty(env['CROSSTALK_AGENT']) ?? nonEmpty(transport.defaults.agent);
  if (said !== undefined) return said;
  const names = KNOWN_AGENTS.map(({ name }) => name);
  const path = env['PATH'] ?? '';
  const usual = await firstOnPath(names, path);
  const served = await firstOnPath(await servedAgents(context), path);
  if (served !== undefined && served !== usual)
    note(`starting ${served}, which this machine serves; another with --agent <command>`);
  const chosen = served ?? usual;
  if (chosen !== undefined) return chosen;
  throw new CrosstalkError(
    'not_found',
    `no known agent CLI on the PATH (${names.join(', ')}); name one with --agent <command>`,
  );
}

/** Returns the known agent CLIs that approved commands of this machine start, in the order of the commands. */
async function servedAgents(context: Context): Promise<string[]> {
  const { host } = await knownHost(context, undefined);
  const tiers = [...(host?.inForce.values() ?? [])].flat();
  return tiers.flatMap(({ cli }) => agentOf(cli)?.name ?? []);
}

/**
 * Returns the environment of an operator, who acts for nobody else, regardless of where the session was
 * started.
 */
async function operatorEnv(context: Context): Promise<NodeJS.ProcessEnv> {
  const env = withoutDispatch(context.env);
  const from = nonEmpty(env['CROSSTALK_FROM']);
  if (from === undefined) return env;
  const actors = await knownActors(context);
  const isActor = context.dispatch.actor !== undefined || actors.some(({ name }) => name === from);
  if (isActor) delete env['CROSSTALK_FROM'];
  return env;
}

/**
 * Executes work in the folder in which a session with an actor works: the same as for its runs. As the
 * session belongs to no thread, it has a workspace, or a copy of the repository, that all sessions with
 * the actor share.
 *
 * @param work the work to do there; receives the variables that keep git in its place
 * @throws CrosstalkError `invalid` when nothing may run there, `git_failed`, `refused`, also for a tier
 *   with a sandbox: it is never opened without one
 */
async function inPlaceOf<T>(
  context: Context,
  { actor, tier }: { actor: string; tier: Tier },
  work: (place: Workplace, guards: Record<string, string>) => Promise<T>,
): Promise<T> {
  const { env, paths, note } = context;
  if (tier.sandbox !== undefined)
    throw new CrosstalkError(
      'refused',
      `the tier ${tier.name} of ${actor} has a sandbox, and sessions in one cannot talk on the bus yet; open another tier with --tier, or try commands in it with: crosstalk sandbox run --actor ${actor} -- <command>`,
    );
  const app = {
    ...context,
    workspaces: new Workspaces(paths.work),
    worktrees: new Worktrees(paths.worktrees),
    log: (event: string, fields?: Record<string, unknown>) => {
      if (event === 'workspace_cleaned')
        note(`removed from ${String(fields?.['dir'])}: ${String(fields?.['removed'])}`);
      if (event === 'branch_held') note(String(fields?.['reason']));
    },
  };
  if (tier.worktree === undefined) {
    const place = await workplaceOf(app, { actor, tier });
    return work(place, gitGuards(place, env));
  }
  const never = new AbortController().signal;
  const worker = { actor, tier, thread: { channel: '', root: 'session' } };
  const opened = await openWorktree(app, worker, prepare(env), never);
  if (!opened.ok) throw new CrosstalkError('refused', opened.detail);
  const { place } = opened;
  const empty = (await emptySubmodules(place.tree.dir)).map(escapeInvisible);
  if (empty.length > 0)
    note(`submodules are empty: ${someOf(empty)}; fill them with: git submodule update --init`);
  try {
    const result = await work({ dir: place.tree.dir, workspace: false, copy: place }, {});
    const branch = await bringBack(app, place, tier, never);
    if (branch !== undefined && branch.held === undefined)
      note(`the commits of this session are on the branch ${branch.name} of ${place.source.dir}`);
    return result;
  } finally {
    await leaveWorktree(app, place);
  }
}

const GRACE_MS = 5000;

/**
 * Returns a function that runs the command before the first session on the terminal, where the operator
 * sees it.
 */
function prepare(env: NodeJS.ProcessEnv): Parameters<typeof openWorktree>[2] {
  return async (command, dir) => {
    const ended = await runPlain(
      ['/bin/sh', '-c', command],
      { cwd: dir, env: withoutOurs(env) },
      GRACE_MS,
    );
    const exitCode = 'exitCode' in ended ? ended.exitCode : 1;
    return { exitCode, timedOut: false, signal: null };
  };
}
