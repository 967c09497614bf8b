import { KNOWN_AGENTS } from './agents.ts';
import { commandLine } from './command-line.ts';

/**
 * What programs that are no agent CLI, but are started with one or by one, take from the folder they are
 * started in, and what makes them run something: `.git` holds hooks and commands that `git status`
 * executes, `.env` and `bunfig.toml` are read by the runtime inside of some CLIs, `.npmrc` by `npx`.
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
 * Programs that look for the one they are to start in the folder they are started in, and where they
 * find it: what a run leaves there would be run in the CLI's place.
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

/** Letters that some file systems do not tell from none at all. */
const UNSEEN = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/**
 * Whether a file or folder of this name, in the folder an agent CLI works in, is a setting of one. It is
 * asked for all of them, whichever is to run, and for every spelling that a file system may take for the
 * name.
 *
 * @param command what is to run there: `npx` and its like take their program from that folder
 */
export function isAgentSetting(name: string, command: string): boolean {
  const plain = name.normalize('NFKC').replace(UNSEEN, '').toLowerCase();
  if (OF_RUNNERS.has(plain)) return namesRunner(command);
  return NAMES.has(plain) || BEGINNINGS.some((beginning) => plain.startsWith(beginning));
}

/** Whether a command says the name of one of them anywhere: as it is written, or once quotes are gone. */
function namesRunner(command: string): boolean {
  if (RUNNERS.test(command)) return true;
  const { words, rest } = commandLine(command);
  return [...words, ...rest].some(({ text }) => RUNNERS.test(text));
}
