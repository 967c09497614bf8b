import { KNOWN_AGENTS } from './agents.ts';
import { commandLine } from './command-line.ts';

/**
 * Files that make other programs run something when those programs start an agent CLI, or are started by one,
 * in this folder: `.git` holds hooks and commands that `git status` executes, `.env` and `bunfig.toml` are
 * read by the runtime inside some CLIs, `.npmrc` by `npx`.
 */
const OF_OTHERS: readonly string[] = [
  '.git',
  '.env*',
  '.direnv',
  '.jj',
  'bunfig.toml',
  '.npmrc',
  '.yarnrc*',
  '.pnpmfile.*',
  'mise.toml',
  'mise.local.toml',
  '.mise*',
  '.config',
  '.tool-versions',
  '.vscode',
  '.idea',
  '.cursor*',
  '.windsurf*',
  '.clinerules',
  '.aider*',
  '.devcontainer*',
];

const ALL = [...KNOWN_AGENTS.flatMap(({ settings }) => settings), ...OF_OTHERS];
const NAMES: ReadonlySet<string> = new Set(ALL);
const BEGINNINGS = [
  ...new Set(ALL.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))),
];

/**
 * Programs that look in their working folder for the program they start, and the files in which they find it: a
 * file that a run leaves there would run instead of the CLI.
 */
const RUNNERS = /\b(?:npx|npm|pnpx|pnpm|yarn|yarnpkg|bunx|bun|corepack|deno)\b/;
const OF_RUNNERS: ReadonlySet<string> = new Set([
  'node_modules',
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'yarn.lock',
  '.yarn',
  '.pnp.cjs',
  '.pnp.loader.mjs',
  'bun.lock',
  'bun.lockb',
  'deno.json',
  'deno.jsonc',
  'deno.lock',
]);

/** Characters that some file systems ignore when they compare names. */
const UNSEEN = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/**
 * Whether a file or folder of this name, in the working folder of an agent CLI, is a setting of an agent CLI. All known
 * CLIs count, whichever is about to run, as does every spelling that a file system may treat as the name.
 *
 * @param command the command about to run there: `npx` and similar programs take their program from that folder
 */
export function isAgentSetting(name: string, command: string): boolean {
  const plain = name.normalize('NFKC').replace(UNSEEN, '').toLowerCase();
  if (OF_RUNNERS.has(plain)) return namesRunner(command);
  return NAMES.has(plain) || BEGINNINGS.some((beginning) => plain.startsWith(beginning));
}

/**
 * Whether a command contains the name of one of these programs, as it is written or with its quotes removed.
 */
function namesRunner(command: string): boolean {
  if (RUNNERS.test(command)) return true;
  const { words, rest } = commandLine(command);
  return [...words, ...rest].some(({ text }) => RUNNERS.test(text));
}
