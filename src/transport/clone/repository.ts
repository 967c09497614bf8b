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
import { configStamp, type Clone } from './clone.ts';
import { remoteLimits } from './forges.ts';
import { Git } from '../git/git.ts';
import { followShallow, isMade, ownGitAt, writeOwnGit, type OwnGit } from './own-git.ts';
import { chooseBranch } from './branches.ts';
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
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mergeBase } from '../objects/lineage.ts';
import { readRef, writeRef } from './refs.ts';

const DEFAULT_COMMITTER = { name: 'crosstalk', email: 'crosstalk@crosstalk.local' };

/** Options for opening a transport. */
export interface OpenOptions extends RecordFile {
  clone: Clone;
  environment: NodeJS.ProcessEnv;
  /** The folder of our own git directory. */
  own: string;
  /** False when this clone had a record that is gone (trust.md §2). */
  fresh: boolean;
}

/** The record in force, with our own git directory ready for use. */
interface Prepared {
  git: Git;
  record: Recording;
}

/**
 * Reads the record of the clone. The first time, and when the clone's configuration was written since,
 * that configuration is read as well.
 *
 * @param known the git of an already open transport
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
  // The first time the directory did not exist yet.
  await followShallow(own, clone).catch(() => undefined);
  // A run with read-only access continues without saving the record.
  await saveRecord(opening, record).catch((error: unknown) => {
    if (recorded === undefined) throw error;
  });
  return { git, record };
}

/**
 * Puts changes of the clone's settings in force, exactly as they were shown.
 *
 * @throws CrosstalkError `refused` for a remote for which git would run a command
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
  // The empty stamp has the clone read again, and compared with the settings now in force.
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

/** Opens a transport that {@link prepare} has made ready. */
export async function openRepository(
  { clone, environment, own, record: beside, seal }: OpenOptions,
  { git, record }: Prepared,
): Promise<Repository> {
  const settings = new Map<string, string>();
  const listed = await listOwn(git).catch(async () => {
    // The file is damaged in a way that the check does not find; the settings in force are in the record.
    await writeOwnGit(ownGitAt(own), clone, record.recorded, branchOf(record));
    return listOwn(git);
  });
  for (const { setting } of listed) settings.set(...setting);
  for (const setting of record.seen.live) settings.set(...setting);
  git.useBatchSsh({ configured: settings.has('core.sshcommand') });
  const url = record.recorded.find(([name]) => name === 'remote.origin.url')?.[1];
  const origin = url === undefined ? undefined : accessOf(url, clone.dir).url;
  const isShared = valueOf(record.recorded, 'core.sharedrepository') !== undefined;
  const isSha256 = valueOf(record.recorded, 'extensions.objectformat') === 'sha256';
  const named = NAMED.map((name) => [name, settings.get(`crosstalk.${name.toLowerCase()}`)]);
  const optional = {
    ...(Object.fromEntries(named) as Record<(typeof NAMED)[number], string | undefined>),
    origin,
    ref: refIn(valueOf(record.recorded, 'crosstalk.ref')),
    bell: bellIn(settings),
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

/** Settings that are used unchanged, by their names after `crosstalk.`. */
const NAMED = [
  ...['from', 'channel', 'agent', 'window', 'maxFileBytes', 'maxUsdPerDay', 'signingKey'],
  ...['keepTranscripts', 'scanSecrets', 'shareStatus', 'warmSessions', 'warmMemory', 'claimLease'],
] as const;

/** Parses `crosstalk.ref`; undefined unless it is the full name of a ref. */
function refIn(value: string | undefined): string | undefined {
  return value !== undefined && /^refs(?:\/[A-Za-z0-9][\w-]*)+$/.test(value) ? value : undefined;
}

/** Returns the settings of the bell; undefined without one. */
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

/** Lists every setting in force in our own git directory, with its scope. */
async function listOwn(git: Git): Promise<Scoped[]> {
  const listed = await git.must(['config', '--list', '-z', '--show-scope']);
  return parseScoped(listed.toString('utf8'));
}

/**
 * Copies the commit and the log of our tracking branch to its new name, as renaming a branch does: the
 * next fetch then shows what is missing there, as if the branch had kept its name. Without this, nobody
 * would notice what a branch has lost when it was set back before its new name was followed.
 *
 * A branch that was followed before and shares no history with the old one is another bus: it keeps its
 * own commit and log.
 *
 * @param gitDir our own git directory
 */
async function carryOver(git: Git, gitDir: string, from: string, to: string): Promise<void> {
  const own = { dir: gitDir, gitDir, commonDir: gitDir, isPrivate: true };
  const [before, after] = [from, to].map((branch) => `refs/remotes/origin/${branch}`) as [
    string,
    string,
  ];
  const tip = await readRef(own, before);
  if (tip === undefined) return;
  const known = await readRef(own, after);
  // A damaged branch, which cannot be compared, loses nothing by taking the other's commit and log.
  const isAnother = async (oid: string): Promise<boolean> =>
    (await mergeBase(git, oid, tip).catch(() => oid)) === undefined;
  if (known !== undefined && (await isAnother(known))) return;
  const log = join(gitDir, 'logs', after);
  await makeFolder(dirname(log), 0o700);
  // A branch without its log is equivalent to a new clone.
  await copyFile(join(gitDir, 'logs', before), log).catch(() => undefined);
  await writeRef(own, after, tip);
}
