import { join, resolve } from 'node:path';
import { readPlainFile } from '../../plain-file.ts';
import { fileStamp } from './clone.ts';
import type { Git } from '../git/git.ts';
import type { Setting } from './access.ts';
import { replace } from './own-git.ts';
import { parseScoped, type Scoped } from './settings.ts';

/**
 * What git's configuration says in our own git directory, kept between commands, so that a command
 * need not start a git process to ask. It counts while each file that git reads for it is the same;
 * where it is not known which files those are, git is asked each time.
 */
interface Listing {
  version: 1;
  /** The variables that say where the files are. */
  places: string;
  /** The file for the whole system, whether or not it is there. */
  system: string;
  /** Paths of the files that there were, each with its stamp. */
  files: [path: string, stamp: string][];
  /** The settings that are made use of, in git's order. */
  settings: Setting[];
}

/** What a {@link Listing} is kept of; other settings, which may hold passwords, are not. */
const USED = /^(crosstalk\.[^.]+|user\.(name|email)|core\.sshcommand|remote\.origin\.promisor)$/;
/** A file changed as recently as this, in milliseconds, could change again within one stamp. */
const FRESH_MS = 1000;
const MAX_LISTING = 1024 * 1024;

/** Where git looks, given by the environment. */
interface Places {
  environment: NodeJS.ProcessEnv;
  /** Our own git directory. */
  gitDir: string;
  /** The file that keeps the listing. */
  kept: string;
}

/**
 * The settings in force in our own git directory that Crosstalk makes use of, the last one of a name
 * wins.
 *
 * @throws CrosstalkError `git_failed` when git cannot read its configuration
 */
export async function settingsInForce(git: Git, places: Places): Promise<readonly Setting[]> {
  const kept = await load(places.kept);
  if (kept !== undefined && (await stillHolds(kept, places))) return kept.settings;
  const { settings, listing } = await listAnew(git, places);
  // Who may not write here asks git again the next time.
  if (listing !== undefined)
    await replace(places.kept, `${JSON.stringify(listing)}\n`).catch(() => undefined);
  return settings;
}

/** Every setting in force in our own git directory, with its scope. */
export async function listOwn(git: Git): Promise<Scoped[]> {
  const listed = await git.must(['config', '--list', '-z', '--show-scope']);
  return parseScoped(listed.toString('utf8'));
}

async function load(path: string): Promise<Listing | undefined> {
  const found = await readPlainFile(path, MAX_LISTING, { follow: false });
  if (found.kind !== 'text') return undefined;
  try {
    const kept: unknown = JSON.parse(found.text);
    return isListing(kept) ? kept : undefined;
  } catch {
    return undefined;
  }
}

function isListing(value: unknown): value is Listing {
  if (!isRecord(value) || value['version'] !== 1) return false;
  const { places, system, files, settings } = value;
  const isText = (text: unknown): boolean => typeof text === 'string';
  const isPairs = (list: unknown): boolean =>
    Array.isArray(list) && list.every((pair) => Array.isArray(pair) && pair.every(isText));
  return [places, system].every(isText) && [files, settings].every(isPairs);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Whether git would read the same: no file of those it read was changed, and none came. */
async function stillHolds(kept: Listing, places: Places): Promise<boolean> {
  if (kept.places !== placesText(places.environment) || isSetByVariables(places)) return false;
  const known = new Map(kept.files);
  const stamps = await stampsOf([...candidates(places, kept.system), ...known.keys()]);
  return [...stamps].every(([path, stamp]) => stamp === (known.get(path) ?? ABSENT));
}

async function listAnew(
  git: Git,
  places: Places,
): Promise<{ settings: readonly Setting[]; listing?: Listing }> {
  const begun = Date.now();
  const system = await systemFile(git, places);
  const paths = candidates(places, system);
  const before = await stampsOf(paths);
  const listed = await git.must(['config', '--list', '-z', '--show-origin']);
  const found = parseScoped(listed.toString('utf8'));
  const settings = found.map(({ setting }) => setting);
  if (system === undefined || settings.some(([name]) => name.startsWith('include')))
    return { settings };
  const origins = found.flatMap(({ scope: origin }) => fileOf(origin, places) ?? []);
  const files = await stampsOf([...paths, ...origins]);
  const isSteady =
    paths.every((path) => files.get(path) === before.get(path)) &&
    origins.every((path) => files.get(path) !== ABSENT) &&
    [...files.values()].every((stamp) => begun - changedAt(stamp) > FRESH_MS);
  if (!isSteady) return { settings };
  const listing: Listing = {
    version: 1,
    places: placesText(places.environment),
    system,
    files: [...files].filter(([, stamp]) => stamp !== ABSENT),
    settings: settings.filter(([name]) => USED.test(name)),
  };
  return { settings, listing };
}

/** The stamp of a file that is not there. */
const ABSENT = '-';

async function stampsOf(paths: readonly string[]): Promise<Map<string, string>> {
  const stamps = [...new Set(paths)].map(async (path) => [path, await fileStamp(path)] as const);
  return new Map(await Promise.all(stamps));
}

/** When a file was changed last, in milliseconds since 1970; 0 for one that is not there. */
function changedAt(stamp: string): number {
  return Number(stamp.split(':')[2] ?? 0) / 1e6;
}

/** The variables that say which files git reads. */
const PLACING = [
  ...['HOME', 'XDG_CONFIG_HOME', 'PATH'],
  ...['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM'],
];

function placesText(environment: NodeJS.ProcessEnv): string {
  return JSON.stringify(PLACING.map((name) => environment[name] ?? false));
}

/** Whether variables hold settings: they are in no file, and may be secrets. */
function isSetByVariables({ environment }: Places): boolean {
  return environment['GIT_CONFIG_COUNT'] !== undefined;
}

/** The files that git would read if they were there, but for what they include. */
function candidates({ environment, gitDir }: Places, system: string | undefined): string[] {
  const { HOME = '/', XDG_CONFIG_HOME = '', GIT_CONFIG_GLOBAL } = environment;
  const home = XDG_CONFIG_HOME === '' ? join(HOME, '.config') : XDG_CONFIG_HOME;
  const user =
    GIT_CONFIG_GLOBAL === undefined
      ? [join(home, 'git', 'config'), join(HOME, '.gitconfig')]
      : [resolve(gitDir, GIT_CONFIG_GLOBAL)];
  return [join(gitDir, 'config'), ...user, ...(system === undefined ? [] : [system])];
}

/**
 * Where git's file for the whole system would be, which depends on how git was built; undefined
 * where that was not found out, or where a listing would not be kept anyway.
 */
async function systemFile(git: Git, places: Places): Promise<string | undefined> {
  if (isSetByVariables(places)) return undefined;
  const own = await fileStamp(join(places.gitDir, 'config'));
  if (Date.now() - changedAt(own) <= FRESH_MS) return undefined;
  const listed = await git.run(['config', '--system', '--list', '-z', '--show-origin']);
  if (!listed.ok)
    return /unable to read config file '([^']+)': No such file/.exec(listed.stderr)?.[1];
  const [origin = ''] = listed.stdout.toString('utf8').split('\0');
  return fileOf(origin, places);
}

/** The path of the file that a setting comes from, as `--show-origin` has it. */
function fileOf(origin: string, { gitDir }: Places): string | undefined {
  return origin.startsWith('file:') ? resolve(gitDir, origin.slice('file:'.length)) : undefined;
}
