import { CrosstalkError } from '../../errors.ts';
import { gitGuards, workplaceOf, type Workplace } from '../../dispatcher/run/workplace.ts';
import { bringBack, leaveWorktree, openWorktree } from '../../dispatcher/run/worktree.ts';
import { emptySubmodules } from '../../dispatcher/sandbox/submodules.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { someOf } from '../../protocol/text/unserved.ts';
import { withoutOurs } from '../../dispatcher/run/environment.ts';
import { runPlain } from '../../runner/plain-session.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { Workspaces } from '../../state/workspaces.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import { Worktrees } from '../../state/worktrees.ts';
import type { Context } from '../context.ts';

/**
 * Where a session with an actor works: where its runs do. As it belongs to no thread, it has a workspace,
 * or a copy of the repository, that all sessions with the actor share.
 *
 * @param work what is done there, with the variables that keep git in its place
 * @throws CrosstalkError `invalid` where nothing may run, `git_failed`, `refused`, also for a tier with a
 *   sandbox: it is never opened without one
 */
export async function inPlaceOf<T>(
  context: Context,
  { actor, tier }: { actor: string; tier: Tier },
  work: (place: Workplace, guards: Record<string, string>) => Promise<T>,
): Promise<T> {
  const { env, paths, transport, now, note } = context;
  if (tier.sandbox !== undefined)
    throw new CrosstalkError(
      'refused',
      `the tier ${tier.name} of ${actor} has a sandbox, and sessions in one cannot talk on the bus yet; open another tier with --tier, or try commands in it with: crosstalk sandbox run --actor ${actor} -- <command>`,
    );
  const parts = {
    workspaces: new Workspaces(paths.work),
    worktrees: new Worktrees(paths.worktrees),
    lookForSecrets: (entry: OutboxEntry) => context.screen.look(entry),
    dir: transport.dir,
    stateDir: paths.root,
    environment: env,
    log: (event: string, fields?: Record<string, unknown>) => {
      if (event === 'workspace_cleaned')
        note(`removed from ${String(fields?.['dir'])}: ${String(fields?.['removed'])}`);
      if (event === 'branch_held') note(String(fields?.['reason']));
    },
    now,
  };
  if (tier.worktree === undefined) {
    const place = await workplaceOf(parts, { actor, tier });
    return work(place, gitGuards(place, env));
  }
  const never = new AbortController().signal;
  const worker = { actor, tier, thread: { channel: '', root: 'session' } };
  const opened = await openWorktree(parts, worker, prepare(env), never);
  if (!opened.ok) throw new CrosstalkError('refused', opened.detail);
  const { place } = opened;
  const empty = (await emptySubmodules(place.tree.dir)).map(escapeInvisible);
  if (empty.length > 0)
    note(`submodules are empty: ${someOf(empty)}; fill them with: git submodule update --init`);
  try {
    const result = await work({ dir: place.tree.dir, workspace: false, copy: place }, {});
    const branch = await bringBack(parts, place, tier, never);
    if (branch !== undefined && branch.held === undefined)
      note(`the commits of this session are on the branch ${branch.name} of ${place.source.dir}`);
    return result;
  } finally {
    await leaveWorktree(parts, place);
  }
}

const GRACE_MS = 5000;

/** Runs the command before the first session on the terminal, where the operator sees it. */
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
