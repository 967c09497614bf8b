import { namesVariable } from '../../agents/command-line.ts';
import { dispatchVariables } from '../../agents/dispatch-variables.ts';
import { bindsGit } from '../../transport/git/environment.ts';
import type { App } from '../../bus/app.ts';
import type { Job } from './job.ts';
import { gitGuards, type Workplace } from './workplace.ts';

/**
 * The environment of a dispatched CLI (cli.md). Of Crosstalk's own variables it has only those that
 * are set here: the dispatcher's own may contain secrets, and name the state directory.
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
 * An environment without Crosstalk's variables, nor those that bind a process to the session of an agent CLI or
 * to the repository of a git that Crosstalk was started from.
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
 * What agent CLIs set for what they start. With `CLAUDECODE` claude refuses to start, and with the others a run
 * would speak to, or count as, a part of the operator's session.
 */
const OF_A_SESSION =
  /^(?:CLAUDECODE|CLAUDE_CODE_(?:ENTRYPOINT|SSE_PORT|MESSAGING_SOCKET|RESUME_FROM_SESSION|TMUX_SESSION|SESSION_(?:ID|KIND|NAME|LOG|ACCESS_TOKEN))|CODEX_(?:THREAD_ID|SANDBOX(?:_NETWORK_DISABLED)?|CI)|GEMINI_CLI|OPENCODE(?:_PID|_CLIENT|_WORKSPACE_ID)?|QWEN_CODE|AI_AGENT)$/;
