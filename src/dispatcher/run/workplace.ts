import { dirname } from 'node:path';
import { isAgentSetting } from '../../agents/settings.ts';
import { suffixOf } from '../../protocol/layout.ts';
import type { DispatcherApp, App } from '../../bus/app.ts';
import type { Worktree } from '../../state/worktrees.ts';
import type { Clone } from '../../transport/clone/clone.ts';
import type { Tree } from '../../transport/worktree/tree.ts';
import { workdirOf } from '../staging/workdir.ts';
import { namesVariable } from '../../agents/command-line.ts';
import { dispatchVariables } from '../../agents/dispatch-variables.ts';
import { bindsGit } from '../../transport/git/environment.ts';
import { type Job } from './job.ts';

/** A copy of a repository, in which a run works. */
export interface TreePlace {
  worktree: Worktree;
  tree: Tree;
  source: Clone;
}

/** Folder in which a run works. */
export interface Workplace {
  /** Absolute, without symlinks. */
  dir: string;
  /** Whether the folder was created by Crosstalk and is not the operator's. */
  workspace: boolean;
  /** If it is a copy of a repository, made for the thread. */
  copy?: TreePlace;
}

/** Dependencies for opening the folders in which agents work, also for a session of the operator. */
export type PlaceApp = Pick<
  DispatcherApp,
  'env' | 'paths' | 'transport' | 'now' | 'log' | 'workspaces' | 'worktrees' | 'screen'
>;

/** Owner of a run; a session as an actor has no thread. */
export interface Worker {
  actor: string;
  tier: { name: string; cli: string; workdir?: string };
  thread?: { channel: string; root: string };
}

/**
 * Returns the folder in which an actor's runs work (trust.md §1): the folder that its tier names, otherwise its
 * workspace for the thread, from which settings of agent CLIs are removed.
 *
 * @throws CrosstalkError `invalid` for a folder in which nothing may run
 */
export async function workplaceOf(app: PlaceApp, worker: Worker): Promise<Workplace> {
  const { actor, tier, thread } = worker;
  if (tier.workdir !== undefined)
    return { dir: await workdirOf(app, tier.workdir), workspace: false };
  const isSetting = (name: string): boolean => isAgentSetting(name, tier.cli);
  const { dir, removed } =
    thread === undefined
      ? await app.workspaces.openInteractive(actor, isSetting)
      : await app.workspaces.open(
          { actor, ...thread },
          suffixOf(thread.root),
          app.now(),
          isSetting,
        );
  if (removed.length > 0) app.log('workspace_cleaned', { actor, dir, removed });
  return { dir, workspace: true };
}

/**
 * Variables that keep the git of a run from looking above its workspace, and from treating it as a
 * repository.
 */
export function gitGuards(
  { dir, workspace }: Workplace,
  environment: NodeJS.ProcessEnv,
): Record<string, string> {
  if (!workspace) return {};
  const above = environment['GIT_CEILING_DIRECTORIES'] ?? '';
  return {
    GIT_CEILING_DIRECTORIES: above === '' ? dirname(dir) : `${dirname(dir)}:${above}`,
    // Files named HEAD, config, objects and refs would turn the folder itself into a repository.
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'safe.bareRepository',
    GIT_CONFIG_VALUE_0: 'explicit',
  };
}

/**
 * Returns the environment of a dispatched CLI (cli.md). Of Crosstalk's own variables it has only those that are set
 * here: the dispatcher's own may contain secrets, and name the state directory.
 */
export function runEnvironment(
  { env, paths, transport }: Pick<App, 'env' | 'paths' | 'transport'>,
  job: Job,
  place: Workplace,
  runDir: string,
): NodeJS.ProcessEnv {
  // A command that 6.0.0 proposed lets its CLI write into the folder that this variable names.
  const asBefore = namesVariable(job.tier.cli, 'CROSSTALK_STATE_DIR');
  return {
    ...withoutOurs(env),
    ...gitGuards(place, env),
    // The `crosstalk` for agent mode comes first.
    PATH: `${paths.bin}:${env['PATH'] ?? ''}`,
    CROSSTALK_TRANSPORT: transport.dir,
    CROSSTALK_RUN_DIR: runDir,
    ...(asBefore && { CROSSTALK_STATE_DIR: runDir }),
    CROSSTALK_WORKDIR: place.dir,
    ...dispatchVariables({ ...job, triggers: job.messages }),
  };
}

/**
 * Returns an environment without Crosstalk's variables, nor those that bind a process to the session of an agent CLI
 * or to the repository of a git that Crosstalk was started from.
 */
export function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // Git also names the author of the commit for which it starts a hook.
  const isInHook = ['GIT_DIR', 'GIT_INDEX_FILE'].some((name) => environment[name] !== undefined);
  const ofAHook = isInHook ? /^GIT_(?:AUTHOR|COMMITTER|REFLOG|EDITOR)/ : undefined;
  const isForeign = (name: string): boolean =>
    name.startsWith('CROSSTALK_') ||
    bindsGit(name) ||
    OF_A_SESSION.test(name) ||
    ofAHook?.test(name) === true;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !isForeign(name)));
}

/**
 * Variables that agent CLIs set for the programs they start. With `CLAUDECODE` claude refuses to start, and with the
 * others a run would speak to, or count as, a part of the operator's session.
 */
const OF_A_SESSION =
  /^(?:CLAUDECODE|CLAUDE_CODE_(?:ENTRYPOINT|SSE_PORT|MESSAGING_SOCKET|RESUME_FROM_SESSION|TMUX_SESSION|SESSION_(?:ID|KIND|NAME|LOG|ACCESS_TOKEN))|CODEX_(?:THREAD_ID|SANDBOX(?:_NETWORK_DISABLED)?|CI)|GEMINI_CLI|OPENCODE(?:_PID|_CLIENT|_WORKSPACE_ID)?|QWEN_CODE|AI_AGENT)$/;
