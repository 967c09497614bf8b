import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { lstat, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { atPath } from '../at-path.ts';
import { hasCode } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { plainFileAt } from '../plain-file.ts';
import { isRecord, writeDurably } from './files.ts';

/**
 * The registry of the clones and the projects of this machine by their paths, where no run can write: one
 * file for each path, below the folder of all transports' state. So nothing has to be written into a
 * project.
 */

/** Pattern of a valid name of a state directory. */
export const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$/;

/** The part of a clone that the registry needs to know. */
export interface CloneFolder {
  /** Its git directory, which linked work trees share. */
  commonDir: string;
  /** Its work tree, by which it is recognised when its git directory was moved elsewhere. */
  dir?: string;
}

export interface Registered {
  id?: string;
  /** Whether the clone was used. */
  started: boolean;
  /** The state directories that were used for it. */
  states: Place[];
}

/**
 * A path, and the file system that it was on, so that a deleted path can be distinguished from one that
 * is not mounted.
 */
interface Place {
  path: string;
  device: string;
}

/** Returns the file that registers the clone with this git directory. */
export function registryFile(home: string, commonDir: string): string {
  const digest = createHash('sha256').update(commonDir).digest('hex').slice(0, 16);
  return join(home, 'clones', `${digest}.json`);
}

/**
 * Reads the registration of the clone at a path: the id, unless another git directory is there now,
 * because a run can put another one in its place; and in any case, whether a clone was used there.
 */
export async function readRegistry(path: string, clone: CloneFolder): Promise<Registered> {
  const value = await readJsonFile(path);
  if (!isRecord(value)) return { started: false, states: [] };
  const { id, started, birth } = value;
  const isSame = typeof id === 'string' && ID.test(id) && birth === (await birthOf(clone));
  return { ...(isSame && { id }), started: started === true, states: placesOf(value['states']) };
}

/** @param state the state directory that is used for the clone now */
export async function writeRegistry(
  path: string,
  clone: CloneFolder,
  { id, started, states }: Registered,
  state: string,
): Promise<void> {
  const isNew = await stat(path).then(
    () => false,
    () => true,
  );
  await makeFolder(dirname(path), 0o700);
  const others = states.filter((one) => one.path !== state);
  const record = {
    version: 1,
    git_dir: await placeOf(clone.commonDir),
    birth: await birthOf(clone),
    ...(id !== undefined && { id }),
    started,
    states: [...others, await placeOf(state)],
  };
  await writeDurably(path, `${JSON.stringify(record)}\n`);
  if (isNew) await sweepRegistry(dirname(path)).catch(() => undefined);
}

/**
 * Removes clones of which nothing is left: neither their git directory nor anything in a state directory
 * that they had. A used clone must never be forgotten while it may come back, or settings made by a run
 * in it would be recorded as its operator's. So an entry stays while its clone, or one of its state
 * directories, may be on a disk that is not mounted at present: a path counts as gone only if the nearest
 * folder above it that exists is on the file system that the path was on. An entry without that file
 * system stays too.
 */
async function sweepRegistry(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const value = name.endsWith('.json') ? await readJsonFile(path) : undefined;
    if (!isRecord(value)) continue;
    const [clone] = placesOf([value['git_dir']]);
    const states = placesOf(value['states']);
    if (clone === undefined || states.length === 0) continue;
    const gone = await Promise.all([isGone(clone), ...states.map(isGone)]);
    if (!gone.includes(false)) await rm(path, { force: true });
  }
}

/** Whether a place is empty or does not exist, on the same file system as before. */
async function isGone({ path, device }: Place): Promise<boolean> {
  try {
    // A file in the place of a folder was put there by somebody.
    if (!(await lstat(path)).isDirectory() || (await readdir(path)).length > 0) return false;
  } catch (error) {
    if (!isMissing(error)) return false;
  }
  return (await deviceOf(path)) === device;
}

async function placeOf(path: string): Promise<Place> {
  return { path, device: await deviceOf(path) };
}

/** Returns the file system on which a path is, or would be made; empty when that is unknown. */
async function deviceOf(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    try {
      return String((await stat(at, { bigint: true })).dev);
    } catch (error) {
      if (!isMissing(error) || at === dirname(at)) return '';
    }
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR');
}

function placesOf(value: unknown): Place[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown) => {
    const { path, device } = isRecord(one) ? one : {};
    const isPlace = typeof path === 'string' && typeof device === 'string' && device !== '';
    return isPlace ? [{ path, device }] : [];
  });
}

/** Returns a stamp that distinguishes a git directory from one made later at the same path. */
async function birthOf({ commonDir }: CloneFolder): Promise<string> {
  const { ino, birthtimeNs } = await stat(commonDir, { bigint: true });
  return `${String(ino)}:${String(birthtimeNs)}`;
}

/** Reads the JSON value in a file; undefined without one. */
export async function readJsonFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Maximum bytes of the file that links a project to its clone of a bus. */
const MAX_FILE = 16 * 1024;

/** A project's clone of its bus. */
export interface ProjectBus {
  /** The folder of the clone. */
  clone: string;
  /** False when another repository is at the project's path now. */
  isSame: boolean;
}

/** Returns the folder with the links from projects to clones. */
export function projectsIn(home: string): string {
  return join(home, 'projects');
}

function fileOf(home: string, commonDir: string): string {
  return join(projectsIn(home), `${digestOf(commonDir)}.json`);
}

/** Returns a name for a project that is the same for as long as its git directory is not moved. */
export function digestOf(commonDir: string): string {
  return createHash('sha256').update(commonDir).digest('hex').slice(0, 16);
}

/**
 * Returns the bus of the project with this git directory; undefined when none was linked, or its clone is
 * gone.
 *
 * @param home the folder of all transports' state
 * @param commonDir the git directory that linked work trees share, without symlinks
 */
export function busOfProject(home: string, commonDir: string): ProjectBus | undefined {
  const value =
    linked(fileOf(home, commonDir)) ?? movedTo(projectsIn(home), projectBirth(commonDir));
  const clone = isRecord(value) ? value['clone'] : undefined;
  if (!isRecord(value) || typeof clone !== 'string') return undefined;
  if (atPath(clone, { follow: true })?.isDirectory() !== true) return undefined;
  return { clone, isSame: value['birth'] === projectBirth(commonDir) };
}

function linked(path: string): unknown {
  const file = plainFileAt(path, MAX_FILE);
  return file.kind === 'text' ? parsed(file.text) : undefined;
}

/**
 * Finds the link of a project that is at another path now: it has the same git directory, and its old
 * path does not exist.
 */
function movedTo(folder: string, birth: string | undefined): unknown {
  return namesIn(folder)
    .map((name) => linked(join(folder, name)))
    .find(
      (value) =>
        isRecord(value) &&
        value['birth'] === birth &&
        typeof value['project'] === 'string' &&
        atPath(value['project'], { follow: true }) === undefined,
    );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Links a project to its clone of its bus. */
export async function linkProject(home: string, commonDir: string, clone: string): Promise<void> {
  const path = fileOf(home, commonDir);
  await makeFolder(dirname(path), 0o700);
  const record = { version: 1, project: commonDir, birth: projectBirth(commonDir), clone };
  await writeDurably(path, `${JSON.stringify(record)}\n`);
}

/** Returns a stamp that distinguishes a git directory from one made later at the same path. */
function projectBirth(commonDir: string): string | undefined {
  const found = atPath(commonDir, { follow: true });
  return found && `${String(found.ino)}:${String(Math.floor(found.birthtimeMs))}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
