import { randomBytes } from 'node:crypto';
import { lstat, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { plainFileAt } from '../plain-file.ts';
import { isRecord, writeDurably } from './files.ts';
import {
  ID,
  readJsonFile,
  readRegistry,
  registryFile,
  writeRegistry,
  type CloneFolder,
} from './registry.ts';

/**
 * The link between a clone and its state (trust.md §2). The clone's git directory contains an id, which
 * names the folder of its state; the state names the clone. So neither another spelling of the remote's
 * URL nor a moved folder leads to a new state. A registry by path remembers both, because a run may be
 * able to write to the clone's git directory.
 */

const MAX_ID_FILE = 1024;

/** Crosstalk's own git directory, and the file with the recorded settings of the clone. */
interface OwnParts {
  git: string;
  settings: string;
}

/** The paths of a clone's id, and of the marks that it was used. */
interface Marks {
  id: string;
  started: string;
  registry: string;
}

/**
 * The record that this machine has used a clone before. If the record of its settings is missing then, it
 * was lost, and the clone's present settings may be a run's.
 */
interface Started {
  was: boolean;
  /** Marks the clone as used, in the clone and in the registry. */
  mark: () => Promise<void>;
}

function marksOf(home: string, { commonDir }: CloneFolder): Marks {
  return {
    id: idFile(commonDir),
    started: join(commonDir, 'crosstalk', 'started'),
    registry: registryFile(home, commonDir),
  };
}

function idFile(gitDir: string): string {
  return join(gitDir, 'crosstalk', 'id');
}

/** Reads the id in a git directory; undefined without one that may name a folder. */
export function readId(gitDir: string): string | undefined {
  const found = plainFileAt(idFile(gitDir), MAX_ID_FILE, { follow: false });
  const text = found.kind === 'text' ? found.text.trim() : '';
  return ID.test(text) ? text : undefined;
}

/** The id of a clone, and whether it was just assigned. */
export interface CloneId {
  id: string;
  isNew: boolean;
}

/**
 * Returns the id of a clone, and assigns one the first time.
 *
 * @param home the folder of all transports' state
 * @param stateOf returns the state directory of a clone with an id
 * @param names the names its state may have had before clones had ids (6.0.0); the first one names a new
 *   state
 */
export async function cloneId(
  home: string,
  clone: CloneFolder,
  stateOf: (id: string) => string,
  names: () => Promise<string[]>,
): Promise<CloneId> {
  const marks = marksOf(home, clone);
  const written = readId(clone.commonDir);
  const registered = await readRegistry(marks.registry, clone);
  // The content of the clone's git directory may have been written by a run.
  const known = registered.id ?? written;
  if (known !== undefined && known === written && (await belongsTo(home, known, clone))) {
    const state = stateOf(known);
    const isKnown = registered.id === undefined || registered.states.some((s) => s.path === state);
    // This only prevents that the clone is forgotten too early, so it may fail: a run may not be able to
    // write there.
    if (!isKnown)
      await writeRegistry(marks.registry, clone, registered, state).catch(() => undefined);
    return { id: known, isNew: false };
  }
  const kept = registered.id;
  const id = kept ?? (await newId(home, clone, known === undefined ? await names() : [known]));
  await writeFileIn(marks.id, `${id}\n`);
  await writeRegistry(marks.registry, clone, { ...registered, id }, stateOf(id));
  return { id, isNew: kept === undefined };
}

/** Returns whether this machine has used a clone before. */
export async function startedOf(home: string, clone: CloneFolder, state: string): Promise<Started> {
  const marks = marksOf(home, clone);
  const registered = await readRegistry(marks.registry, clone);
  const was =
    registered.started || (await exists(marks.started)) || (await wasStartedAt(home, clone));
  let isMarked = registered.started && (await exists(marks.started));
  const mark = async (): Promise<void> => {
    if (isMarked) return;
    isMarked = true;
    const now = await readRegistry(marks.registry, clone);
    await writeRegistry(marks.registry, clone, { ...now, started: true }, state);
    await writeFileIn(marks.started, '');
  };
  return { was, mark };
}

/** Records in a state directory the clone that it belongs to. */
export async function claim(root: string, clone: CloneFolder): Promise<void> {
  if ((await ownerOf(root)) === clone.commonDir) return;
  await writeDurably(
    join(root, 'clone.json'),
    `${JSON.stringify({ version: 1, git_dir: clone.commonDir })}\n`,
  );
}

/**
 * Clears a state directory for a clone that has just received its id: it has no use for parts that belong
 * to another clone's objects. The recorded settings of a clone at the same path stay in force.
 */
export async function clear(root: string, parts: OwnParts, clone: CloneFolder): Promise<void> {
  await rm(parts.git, { recursive: true, force: true });
  if ((await ownerOf(root)) !== clone.commonDir) await rm(parts.settings, { force: true });
}

/**
 * Refuses a folder given for the state that contains something else under the name of our own git
 * directory, which would be overwritten.
 *
 * @throws CrosstalkError `refused`
 */
export async function assertOurs(root: string, { git, settings }: OwnParts): Promise<void> {
  if (!(await exists(git)) || (await ownerOf(root)) !== undefined) return;
  const recorded = await readJsonFile(settings);
  if (isRecord(recorded) && Array.isArray(recorded['recorded'])) return;
  throw new CrosstalkError(
    'refused',
    `the state directory ${root} holds a "git" that is not crosstalk's; give an empty folder with CROSSTALK_STATE_DIR`,
  );
}

/** Whether a state directory belongs to another clone that still exists. */
export async function isTaken(root: string, clone: CloneFolder): Promise<boolean> {
  const owner = await ownerOf(root);
  return owner !== undefined && owner !== clone.commonDir && readId(owner) !== undefined;
}

/** Reads the git directory that a state directory belongs to; undefined when none is recorded. */
async function ownerOf(root: string): Promise<string | undefined> {
  const value = await readJsonFile(join(root, 'clone.json'));
  const owner = isRecord(value) ? value['git_dir'] : undefined;
  return typeof owner === 'string' ? owner : undefined;
}

/** Whether a state belongs to a clone: it names that clone, or the clone has its id and the named one is gone. */
async function belongsTo(home: string, id: string, clone: CloneFolder): Promise<boolean> {
  const owner = await ownerOf(join(home, id));
  return owner === undefined || owner === clone.commonDir || readId(owner) !== id;
}

async function newId(home: string, clone: CloneFolder, names: readonly string[]): Promise<string> {
  const wanted = names.filter((name) => ID.test(name));
  for (const name of wanted)
    if ((await exists(join(home, name))) && (await isFree(home, name, clone))) return name;
  const [first = 'transport-0'] = wanted;
  if (!(await exists(join(home, first)))) return first;
  return `${first.slice(0, Math.max(0, first.lastIndexOf('-')))}-${randomBytes(6).toString('hex')}`;
}

async function isFree(home: string, name: string, clone: CloneFolder): Promise<boolean> {
  const owner = await ownerOf(join(home, name));
  return owner === undefined || owner === clone.commonDir;
}

/** Whether a clone was used whose git directory was in the work tree itself. */
async function wasStartedAt(home: string, { dir }: CloneFolder): Promise<boolean> {
  if (dir === undefined) return false;
  const { registry } = marksOf(home, { commonDir: join(dir, '.git') });
  const value = await readJsonFile(registry);
  return isRecord(value) && value['started'] === true;
}

/**
 * Writes into the clone's git directory, where a run may have put something in the file's place.
 */
async function writeFileIn(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const there = await lstat(folder).catch(() => undefined);
  if (there?.isDirectory() === false)
    throw new CrosstalkError(
      'refused',
      `${folder} is no folder, and crosstalk's marks of this clone belong into it; nothing is lost: see what has put it there, and remove it`,
    );
  try {
    await makeFolder(folder, 0o700);
    await writeDurably(path, text);
  } catch (error) {
    const isFull = hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT');
    throw new CrosstalkError(
      'refused',
      `cannot write to ${folder}, which belongs to this clone: ${reasonOf(error)}; nothing was sent: ${isFull ? 'make room' : 'use a clone of your own, made with: crosstalk init <dir> --remote <url>'}`,
      { cause: error },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
