import { dirname } from 'node:path';
import { isAgentSetting } from '../../agents/settings.ts';
import { suffixOf } from '../../protocol/names.ts';
import type { DispatcherApp } from '../../bus/app.ts';
import type { Worktree } from '../../state/worktrees.ts';
import type { Clone } from '../../transport/clone/clone.ts';
import type { Tree } from '../../transport/worktree/tree.ts';
import { workdirOf } from '../laying/workdir.ts';

/** A copy of a repository, in which a run works. */
export interface TreePlace {
  worktree: Worktree;
  tree: Tree;
  source: Clone;
}

/** Where a run works. */
export interface Workplace {
  /** Absolute, without symlinks. */
  dir: string;
  /** Whether the folder was created by Crosstalk and is not the operator's. */
  workspace: boolean;
  /** If it is a copy of a repository, made for the thread. */
  copy?: TreePlace;
}

/** What opens the places in which agents work, also for a session of the operator. */
export type PlaceApp = Pick<
  DispatcherApp,
  'env' | 'paths' | 'transport' | 'now' | 'log' | 'workspaces' | 'worktrees' | 'screen'
>;

/** Whose run it is; a session as an actor has no thread. */
export interface Worker {
  actor: string;
  tier: { name: string; cli: string; workdir?: string };
  thread?: { channel: string; root: string };
}

/**
 * Where an actor's runs work (trust.md §1): in the folder that its tier names, otherwise in its
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
