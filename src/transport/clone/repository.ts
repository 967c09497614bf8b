import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../folder.ts';
import {
  IDENTITY,
  OF_BELL,
  type Repository,
  loadRecord,
  saveRecord,
  type RecordFile,
} from './handle.ts';
import { accessOf, assertOrigin, type Setting } from './access.ts';
import { configStamp, type Clone, fileStamp } from './clone.ts';
import { remoteLimits } from './forges.ts';
import { Git } from '../git/git.ts';
import { followShallow, isMade, ownGitAt, writeOwnGit, type OwnGit, replace } from './own-git.ts';
import { chooseBranch } from './branches.ts';
import { carryOver } from './renamed.ts';
import {
  accepted,
  assertUsable,
  firstRecord,
  ofClone,
  readClone,
  seenAgain,
  valueOf,
  type Recording,
  type SettingChange,
  parseScoped,
  type Scoped,
} from './settings.ts';
import { readPlainFile } from '../../plain-file.ts';

const DEFAULT_COMMITTER = { name: 'crosstalk', email: 'crosstalk@crosstalk.local' };

/** What a transport is opened with. */
export interface OpenOptions extends RecordFile {
  clone: Clone;
  environment: NodeJS.ProcessEnv;
  /** The folder of our own git directory. */
  own: string;
  /** False when this clone had a record that is gone (trust.md §2). */
  fresh: boolean;
}

/** What is in force, with our own git directory ready for use. */
interface Prepared {
  git: Git;
  record: Recording;
}

/**
 * Reads what was recorded of the clone. The first time, and when the clone's configuration was
 * written since, that configuration is read as well.
 *
 * @param known the git that the transport is open with already
 * @throws CrosstalkError `git_failed` when it cannot be read
 */
export async function prepare(opening: OpenOptions, known?: Git): Promise<Prepared> {
  const { clone, environment } = opening;
  const own = ownGitAt(opening.own);
  const place = { gitDir: own.gitDir, objectsDir: clone.objectsDir };
  const git = known ?? new Git(clone.dir, environment, place);
  const [stamp, recorded, made] = await Promise.all([
    configStamp(clone),
    loadRecord(opening),
    isMade(own),
    followShallow(own, clone).catch(() => undefined),
  ]);
  if (recorded?.seen.stamp === stamp && made) return { git, record: recorded };
  const record = await recordAnew(opening, git, own, recorded, stamp, made);
  // The first time there was no directory yet to put it into.
  await followShallow(own, clone).catch(() => undefined);
  // A run that may only read goes on without keeping what it has read.
  await saveRecord(opening, record).catch((error: unknown) => {
    if (recorded === undefined) throw error;
  });
  return { git, record };
}

/**
 * Puts changes of the clone's settings in force, exactly as they were shown.
 *
 * @throws CrosstalkError `refused` for a remote that git would run a command for
 */
export async function acceptChanges(
  opening: OpenOptions,
  changes: readonly SettingChange[],
): Promise<void> {
  const { clone, own, environment } = opening;
  const record = await loadRecord(opening);
  if (record === undefined) return;
  const settings = changes.filter(({ name }) => name !== IDENTITY);
  const [identity = record.identity] =
    changes.find(({ name }) => name === IDENTITY)?.proposed ?? [];
  const recorded = accepted(record.recorded, settings);
  assertUsable(recorded);
  const [from, to] = [branchOf(record), valueOf(recorded, 'crosstalk.branch')];
  if (from !== undefined && to !== undefined && from !== to) {
    const { gitDir } = ownGitAt(own);
    const git = new Git(clone.dir, environment, { gitDir, objectsDir: clone.objectsDir });
    await carryOver(git, gitDir, from, to);
  }
  await writeOwnGit(ownGitAt(own), clone, recorded, to);
  // The clone is read again, and compared with what is in force now.
  await saveRecord(opening, {
    ...record,
    ...(identity && { identity }),
    recorded,
    seen: { ...record.seen, stamp: '' },
  });
}

async function recordAnew(
  { clone, fresh }: OpenOptions,
  git: Git,
  own: OwnGit,
  known: Recording | undefined,
  stamp: string,
  made: boolean,
): Promise<Recording> {
  await makeFolder(own.gitDir, 0o700);
  const theirs = await readClone(git, clone);
  if (!made) await writeOwnGit(own, clone, known?.recorded ?? [], known && branchOf(known));
  const settings = ofClone(theirs, await listOwn(git));
  if (known !== undefined) return seenAgain(known, stamp, settings);
  assertOrigin(clone, settings);
  const record = firstRecord(stamp, settings, fresh);
  await writeOwnGit(own, clone, record.recorded, branchOf(record));
  if (branchOf(record) !== undefined) return record;
  const branch = await chooseBranch(git, clone, valueOf(record.recorded, 'remote.origin.url'));
  const recorded: Setting[] = [...record.recorded, ['crosstalk.branch', branch]];
  await writeOwnGit(own, clone, recorded, branch);
  return { ...record, recorded };
}

function branchOf({ recorded }: Recording): string | undefined {
  return valueOf(recorded, 'crosstalk.branch');
}

/** Opens what {@link prepare} has made ready. */
export async function openRepository(
  { clone, environment, own, record: beside, seal }: OpenOptions,
  { git, record }: Prepared,
): Promise<Repository> {
  const settings = new Map<string, string>();
  const places = { environment, gitDir: own, kept: join(dirname(beside), 'git-listing.json') };
  const listed = await settingsInForce(git, places).catch(async () => {
    // Damaged where a look at it does not tell; what is in force is on record.
    await writeOwnGit(ownGitAt(own), clone, record.recorded, branchOf(record));
    return settingsInForce(git, places);
  });
  for (const setting of listed) settings.set(...setting);
  for (const setting of record.seen.live) settings.set(...setting);
  git.useBatchSsh({ configured: settings.has('core.sshcommand') });
  const url = record.recorded.find(([name]) => name === 'remote.origin.url')?.[1];
  const origin = url === undefined ? undefined : accessOf(url, clone.dir).url;
  const isShared = valueOf(record.recorded, 'core.sharedrepository') !== undefined;
  const isSha256 = valueOf(record.recorded, 'extensions.objectformat') === 'sha256';
  const optional = {
    origin,
    from: settings.get('crosstalk.from'),
    channel: settings.get('crosstalk.channel'),
    ref: refIn(valueOf(record.recorded, 'crosstalk.ref')),
    agent: settings.get('crosstalk.agent'),
    window: settings.get('crosstalk.window'),
    maxFileBytes: settings.get('crosstalk.maxfilebytes'),
    maxUsdPerDay: settings.get('crosstalk.maxusdperday'),
    signingKey: settings.get('crosstalk.signingkey'),
    keepTranscripts: settings.get('crosstalk.keeptranscripts'),
    scanSecrets: settings.get('crosstalk.scansecrets'),
    shareStatus: settings.get('crosstalk.sharestatus'),
    bell: bellIn(settings),
    warmSessions: settings.get('crosstalk.warmsessions'),
    warmMemory: settings.get('crosstalk.warmmemory'),
    limits: remoteLimits(origin, settings),
    objectsDir: isShared ? undefined : clone.objectsDir,
    identity: record.identity,
    isSha256: isSha256 ? true : undefined,
    partial: settings.get('remote.origin.promisor') === 'true' ? true : undefined,
  };
  return {
    git,
    clone,
    dir: clone.dir,
    gitDir: own,
    record: beside,
    seal,
    committer: committerOf(settings, environment),
    branch: branchOf(record) ?? 'main',
    changes: record.seen.changes,
    stamp: record.seen.stamp,
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<Repository>),
  };
}

/** A ref as `crosstalk.ref` names it; undefined for what is no full name of one. */
function refIn(value: string | undefined): string | undefined {
  return value !== undefined && /^refs(?:\/[A-Za-z0-9][\w-]*)+$/.test(value) ? value : undefined;
}

/** What is set of the bell; undefined where there is none. */
function bellIn(settings: ReadonlyMap<string, string>): Repository['bell'] {
  const servers = settings.get('crosstalk.bell');
  if (servers === undefined) return undefined;
  const others = OF_BELL.map((key) => [key, settings.get(`crosstalk.bell${key}`)] as const);
  return { servers, ...Object.fromEntries(others.filter(([, value]) => value !== undefined)) };
}

function committerOf(
  settings: Map<string, string>,
  environment: NodeJS.ProcessEnv,
): { name: string; email: string } {
  const name = environment['GIT_COMMITTER_NAME'] ?? settings.get('user.name');
  const email = environment['GIT_COMMITTER_EMAIL'] ?? settings.get('user.email');
  const clean = (text: string | undefined): string =>
    (text ?? '').replace(/[<>\p{C}]/gu, '').trim();
  return {
    name: clean(name) || DEFAULT_COMMITTER.name,
    email: clean(email) || DEFAULT_COMMITTER.email,
  };
}

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
async function settingsInForce(git: Git, places: Places): Promise<readonly Setting[]> {
  const kept = await load(places.kept);
  if (kept !== undefined && (await stillHolds(kept, places))) return kept.settings;
  const { settings, listing } = await listAnew(git, places);
  // Who may not write here asks git again the next time.
  if (listing !== undefined)
    await replace(places.kept, `${JSON.stringify(listing)}\n`).catch(() => undefined);
  return settings;
}

/** Every setting in force in our own git directory, with its scope. */
async function listOwn(git: Git): Promise<Scoped[]> {
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
