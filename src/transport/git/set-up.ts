import { simpleGit, type SimpleGit } from 'simple-git';
import { gitEnvironment } from './environment.ts';

/** Variables that a set-up command needs; simple-git refuses others that name a program. */
const NEEDED = /^(?:PATH|HOME|XDG_CONFIG_HOME|LC_ALL|GIT_CONFIG_\w+)$/;
/** Milliseconds for git in all, as for our own local calls. */
const LIMIT = 60_000;

/**
 * Creates a simple-git for set-up commands, with the time limit of our own calls, no hooks, and no
 * variable that leads elsewhere or names a program; never in a repository that a run can write
 * (docs/decisions/0025).
 *
 * @param dir a folder that exists
 */
export function setUpGit(dir: string, environment: NodeJS.ProcessEnv): SimpleGit {
  const env = Object.fromEntries(
    Object.entries(gitEnvironment(environment, undefined)).filter(([name]) => NEEDED.test(name)),
  );
  return simpleGit({
    baseDir: dir,
    abort: AbortSignal.timeout(LIMIT),
    config: ['core.hooksPath=/dev/null'],
    // The user's own variables name the files of their settings.
    unsafe: {
      allowUnsafeConfigEnvCount: true,
      allowUnsafeConfigPaths: true,
      allowUnsafeHooksPath: true,
    },
    allowEnvironment: Object.keys(env),
  }).env(env);
}
