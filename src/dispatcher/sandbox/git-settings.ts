import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { accountOf, loginFiles, type AgentAccount, KNOWN_AGENTS } from '../../agents/agents.ts';
import { commandLine, inHome } from '../../agents/command-line.ts';
import { makeFolder } from '../../folder.ts';
import { writeDurably } from '../../state/files.ts';
import { Git } from '../../transport/git/git.ts';
import { type View } from '../../runner/sandbox/mounts.ts';
import { type Log } from '../../log.ts';
import { type Tier } from '../../protocol/files/host-file.ts';
import { type Sandbox } from '../../protocol/files/tier-sandbox.ts';

/**
 * The settings of git that a run in a sandbox has of the operator's: who writes, and how git works. None of them
 * names a command, a file or an address, or holds a secret.
 */
const HARMLESS =
  /^(?:user\.(?:name|email|useconfigonly)|init\.defaultbranch|core\.(?:autocrlf|eol|safecrlf|quotepath|abbrev|whitespace)|(?:color|column)\.[a-z]+|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)|fetch\.prune|merge\.(?:conflictstyle|ff)|rebase\.auto(?:squash|stash)|diff\.(?:algorithm|renames|colormoved|mnemonicprefix)|rerere\.enabled|(?:branch|tag)\.sort|branch\.autosetup(?:rebase|merge)|log\.date|safe\.directory)$/;
const GIT_MS = 10_000;

type Setting = readonly [name: string, value: string];

async function listed(
  { transport, env }: Pick<Confinement, 'transport' | 'env'>,
  ...which: string[]
): Promise<Setting[]> {
  // This prints settings, and executes none.
  const git = new Git(transport.dir, env);
  const outcome = await git.run(['config', ...which, '--list', '-z'], { timeout: GIT_MS });
  return outcome.stdout
    .toString('utf8')
    .split('\0')
    .flatMap((entry): Setting[] => {
      const end = entry.indexOf('\n');
      return end < 0 ? [] : [[entry.slice(0, end), entry.slice(end + 1)]];
    });
}

/** Writes a file with the settings of the operator's git that a run may know. */
export async function settingsOfGit(what: Confinement): Promise<string> {
  const lines = (await listed(what, '--global')).flatMap(([name, value]) => {
    if (!HARMLESS.test(name)) return [];
    const [section = '', key = ''] = name.split('.');
    const text = value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
    return [`[${section}]\n\t${key} = "${text}"\n`];
  });
  return keptFile(what.stateDir, 'gitconfig', lines.join(''));
}

/**
 * Returns keys and logins that this program knows of: they are hidden also where they are in folders that a tier
 * names.
 *
 * @returns their paths, of logins the folders
 */
export async function secretsOf(what: Confinement, home: string): Promise<string[]> {
  const settings = await listed(what);
  const keys = settings.flatMap(([name, value]) => {
    if (name === 'crosstalk.signingkey' || name === 'user.signingkey') return [value];
    return name === 'core.sshcommand' ? keysIn(value) : [];
  });
  const accounts: AgentAccount[] = [
    ...KNOWN_AGENTS.map((agent) => ({ agent, id: agent.name })),
    ...what.tiers.map(({ cli }) => accountOf(cli)).filter((account) => account !== undefined),
  ];
  const logins = accounts.flatMap((account) => loginFiles(account, { ...what.env, HOME: home }));
  return [...keys.map((path) => inHome(path, home)), ...logins.map((file) => dirname(file))].filter(
    (path) => path.startsWith('/'),
  );
}

/** Returns the files of keys that a command line of ssh names. */
function keysIn(line: string): string[] {
  const { words } = commandLine(line);
  return words.flatMap(({ text }, at) => {
    const before = words[at - 1]?.text ?? '';
    if (before === '-i') return [text];
    const [, given] = /^(?:-o)?IdentityFile[= ](.+)$/i.exec(text) ?? [];
    return given !== undefined ? [given.trim()] : /^-i./.test(text) ? [text.slice(2)] : [];
  });
}

/**
 * Writes a file for the programs of a sandbox, if it has another content.
 *
 * @returns its path
 */
export async function keptFile(
  stateDir: string,
  name: string,
  content: string | Buffer,
): Promise<string> {
  // No actor has such a name.
  const path = join(stateDir, 'sandbox', `.${name}`);
  const there = await readFile(path).catch(() => undefined);
  if (there?.equals(Buffer.from(content)) === true) return path;
  await makeFolder(dirname(path), 0o700);
  await writeDurably(path, content);
  return path;
}

/** Program to run in a sandbox, and its folders. */
export interface Confinement {
  sandbox: Sandbox;
  /** The sandbox program. */
  program: string;
  actor: string;
  command: string;
  /** Folder in which it works. */
  cwd: string;
  /** The variables it would have without a sandbox. */
  env: NodeJS.ProcessEnv;
  /** Its own directory; undefined where it does not talk on the bus. */
  runDir?: string;
  /** The folder of the `crosstalk` on its PATH. */
  binDir?: string;
  stateDir: string;
  /** The folder that holds the state of all transports. */
  stateHome: string;
  /** The transport's checkout, and its git directories. */
  transport: { dir: string; gitDirs: readonly string[] };
  /** The folder that its tier names to work in, as it is written there. */
  workdir?: string | undefined;
  /** All tiers of this machine: the logins of others are not for this one, and their runs may write elsewhere. */
  tiers: readonly Pick<Tier, 'cli' | 'workdir' | 'sandbox'>[];
  /** The session of its CLI: its name here, and whether it is gone on with. */
  session?: { key: string; goesOn: boolean };
  now: () => Date;
  log: Log;
}

export type Own = View['own'];
