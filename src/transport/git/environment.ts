import { simpleGit, type SimpleGit } from 'simple-git';

/** Variables by which a surrounding git call would point our git calls elsewhere. */
const FOREIGN: readonly string[] = [
  'GIT_DIR',
  'GIT_COMMON_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_SHALLOW_FILE',
  'GIT_GRAFT_FILE',
  'GIT_REPLACE_REF_BASE',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_PREFIX',
  'GIT_NAMESPACE',
  'GIT_QUARANTINE_PATH',
  'GIT_CONFIG',
  'GIT_CONFIG_PARAMETERS',
  'GIT_INTERNAL_SUPER_PREFIX',
  'GIT_LITERAL_PATHSPECS',
  'GIT_GLOB_PATHSPECS',
  'GIT_NOGLOB_PATHSPECS',
  'GIT_ICASE_PATHSPECS',
  'GIT_NO_LAZY_FETCH',
];

/**
 * Whether a variable binds git to the repository whose hook or alias started us: one of `git rev-parse
 * --local-env-vars`, or a similar one.
 */
export function bindsGit(name: string): boolean {
  return FOREIGN.includes(name) || name === 'GIT_CONFIG_COUNT' || name === 'GIT_NO_REPLACE_OBJECTS';
}

/**
 * Settings of glibc's allocator for a git that works locally and ends. For each object that it
 * compresses, git allocates a quarter of a megabyte and frees it, and glibc would return that to the
 * system every time: a thousand messages take git 65 ms that way and 19 ms without. These are the values
 * that glibc reaches automatically once a program has freed a large block. Another allocator ignores
 * them.
 */
export const KEEPING_MEMORY = {
  MALLOC_TRIM_THRESHOLD_: String(64 << 20),
  MALLOC_MMAP_THRESHOLD_: String(32 << 20),
};

/** The directories of git for the bus: our own git directory, with the objects of the operator's clone. */
export interface GitPlace {
  gitDir: string;
  objectsDir: string;
}

/**
 * Returns the environment of every git process for the bus.
 *
 * @param environment our own, from which the user's `GIT_*` settings (ssh, askpass, certificates) are
 *   kept
 * @param place our own git directory; without one git works in the folder where it is started
 */
export function gitEnvironment(
  environment: NodeJS.ProcessEnv,
  place: GitPlace | undefined,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(environment).filter(([key]) => !FOREIGN.includes(key));
  return {
    ...Object.fromEntries(inherited),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GCM_INTERACTIVE: 'never',
    // Branches are read and moved as files in the clone.
    GIT_DEFAULT_REF_FORMAT: 'files',
    ...(place && { GIT_DIR: place.gitDir, GIT_OBJECT_DIRECTORY: place.objectsDir }),
  };
}

/**
 * Converts a number of seconds in the environment to milliseconds; undefined when it is not a positive
 * number.
 */
export function secondsOf(value: string | undefined): number | undefined {
  const seconds = Number(value);
  return seconds > 0 ? seconds * 1000 : undefined;
}

/** Variables that a set-up command needs; simple-git refuses others that name a program. */
const NEEDED = /^(?:PATH|HOME|XDG_CONFIG_HOME|LC_ALL|GIT_CONFIG_\w+)$/;
/** Milliseconds for git in all, as for our own local calls. */
const LIMIT = 60_000;

/**
 * Creates a simple-git for set-up commands, with the time limit of our own calls, no hooks, and no
 * variable that leads elsewhere or names a program; never in a repository that a run can write
 * (docs/decisions/04-git.md).
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
