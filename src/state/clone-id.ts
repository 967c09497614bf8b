import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CrosstalkError } from '../errors.ts';
import { readPlainFile } from '../plain-file.ts';
import { isRecord, writeDurably } from './files.ts';

/**
 * How a clone and its state find each other (trust.md §2). The clone's git directory holds an id,
 * which names the folder of its state; the state names the clone. So neither another spelling of the
 * remote's URL nor a moved folder makes a new state. A registry by path remembers both, because a run
 * may be able to write the clone's git directory.
 */

const MAX_ID_FILE = 1024;
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$/;

/** The part of a clone that is asked here. */
export interface CloneFolder {
  /** Its git directory, that which linked work trees share. */
  commonDir: string;
  /** Its work tree, by which it is known when its git directory was put elsewhere. */
  dir?: string;
}

/** Our own git directory, and the file with what was recorded of the clone. */
interface OwnParts {
  git: string;
  settings: string;
}

/** Where a clone's id and the mark of its first start are. */
interface Marks {
  id: string;
  started: string;
  registry: string;
}

interface Registered {
  id?: string;
  started: boolean;
}

/** Whether something was approved for a clone already, so that no start is its first. */
export interface Started {
  was: boolean;
  /** Remembers it in the clone and beside it. */
  mark: () => Promise<void>;
}

function marksOf(home: string, { commonDir }: CloneFolder): Marks {
  const digest = createHash('sha256').update(commonDir).digest('hex').slice(0, 16);
  return {
    id: idFile(commonDir),
    started: join(commonDir, 'crosstalk', 'started'),
    registry: join(home, 'clones', `${digest}.json`),
  };
}

function idFile(gitDir: string): string {
  return join(gitDir, 'crosstalk', 'id');
}

/** The id in a git directory; undefined when there is none, or none that may name a folder. */
export async function readId(gitDir: string): Promise<string | undefined> {
  const found = await readPlainFile(idFile(gitDir), MAX_ID_FILE, false);
  const text = found.kind === 'text' ? found.text.trim() : '';
  return ID.test(text) ? text : undefined;
}

/** What a clone goes by, and whether it was given that name just now. */
export interface CloneId {
  id: string;
  isNew: boolean;
}

/**
 * The id of a clone; given to it the first time.
 *
 * @param home the folder of all transports' state
 * @param names the names its state may have had before clones had ids (6.0.0); the first one names
 *   a new state
 */
export async function cloneId(
  home: string,
  clone: CloneFolder,
  names: () => Promise<string[]>,
): Promise<CloneId> {
  const marks = marksOf(home, clone);
  const written = await readId(clone.commonDir);
  const registered = await readRegistry(marks.registry, clone);
  // What is in the clone's git directory may have been written by a run.
  const known = registered.id ?? written;
  if (known !== undefined && known === written && (await belongsTo(home, known, clone)))
    return { id: known, isNew: false };
  const kept = registered.id;
  const id = kept ?? (await newId(home, clone, known === undefined ? await names() : [known]));
  await writeFileIn(marks.id, `${id}\n`);
  await writeRegistry(marks, clone, { ...registered, id });
  return { id, isNew: kept === undefined };
}

/** Whether anything was approved for a clone. */
export async function startedOf(home: string, clone: CloneFolder): Promise<Started> {
  const marks = marksOf(home, clone);
  const registered = await readRegistry(marks.registry, clone);
  const was =
    registered.started || (await exists(marks.started)) || (await wasStartedAt(home, clone));
  let isMarked = registered.started && (await exists(marks.started));
  const mark = async (): Promise<void> => {
    if (isMarked) return;
    isMarked = true;
    await writeFileIn(marks.started, '');
    const now = await readRegistry(marks.registry, clone);
    await writeRegistry(marks, clone, { ...now, started: true });
  };
  return { was, mark };
}

/** Says in a state directory whose it is. */
export async function claim(root: string, clone: CloneFolder): Promise<void> {
  if ((await ownerOf(root)) === clone.commonDir) return;
  await writeDurably(
    join(root, 'clone.json'),
    `${JSON.stringify({ version: 1, git_dir: clone.commonDir })}\n`,
  );
}

/**
 * Makes a state directory ready for a clone that has just got its id: what belongs to another
 * clone's objects is of no use to it. What was recorded of a clone at the same path stays in force.
 */
export async function clear(root: string, parts: OwnParts, clone: CloneFolder): Promise<void> {
  await rm(parts.git, { recursive: true, force: true });
  if ((await ownerOf(root)) !== clone.commonDir) await rm(parts.settings, { force: true });
}

/**
 * @throws CrosstalkError `refused` where a folder that somebody gave for the state holds something
 *   else under the name of our own git directory, which would be overwritten
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

/** Whether a state directory belongs to another clone that is still there. */
export async function isTaken(root: string, clone: CloneFolder): Promise<boolean> {
  const owner = await ownerOf(root);
  return owner !== undefined && owner !== clone.commonDir && (await readId(owner)) !== undefined;
}

/** The git directory that a state directory belongs to; undefined when it does not say. */
async function ownerOf(root: string): Promise<string | undefined> {
  const value = await readJsonFile(join(root, 'clone.json'));
  const owner = isRecord(value) ? value['git_dir'] : undefined;
  return typeof owner === 'string' ? owner : undefined;
}

/** A state belongs to the clone that it names, or to any that has its id once that one is gone. */
async function belongsTo(home: string, id: string, clone: CloneFolder): Promise<boolean> {
  const owner = await ownerOf(join(home, id));
  return owner === undefined || owner === clone.commonDir || (await readId(owner)) !== id;
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

/**
 * What is remembered of the clone at a path: the id unless another git directory stands there now,
 * because a run can put another one in its place; that something was approved there in any case.
 */
async function readRegistry(path: string, clone: CloneFolder): Promise<Registered> {
  const value = await readJsonFile(path);
  if (!isRecord(value)) return { started: false };
  const { id, started, birth } = value;
  const isSame = typeof id === 'string' && ID.test(id) && birth === (await birthOf(clone));
  return { ...(isSame && { id }), started: started === true };
}

/** Whether something was approved for a clone whose git directory was in the work tree itself. */
async function wasStartedAt(home: string, { dir }: CloneFolder): Promise<boolean> {
  if (dir === undefined) return false;
  const { registry } = marksOf(home, { commonDir: join(dir, '.git') });
  const value = await readJsonFile(registry);
  return isRecord(value) && value['started'] === true;
}

async function writeRegistry(
  { registry }: Marks,
  clone: CloneFolder,
  registered: Registered,
): Promise<void> {
  await mkdir(dirname(registry), { recursive: true, mode: 0o700 });
  const record = { version: 1, birth: await birthOf(clone), ...registered };
  await writeDurably(registry, `${JSON.stringify(record)}\n`);
}

/** Tells a git directory from one that was made later at the same path. */
async function birthOf({ commonDir }: CloneFolder): Promise<string> {
  const { ino, birthtimeNs } = await stat(commonDir, { bigint: true });
  return `${String(ino)}:${String(birthtimeNs)}`;
}

/** Writes into the clone's git directory, where a run may have put something in the way. */
async function writeFileIn(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const there = await lstat(folder).catch(() => undefined);
  if (there?.isDirectory() === false)
    throw new CrosstalkError(
      'refused',
      `${folder} is no folder, and crosstalk's marks of this clone belong into it; nothing is lost: see what has put it there, and remove it`,
    );
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeDurably(path, text);
}

async function readJsonFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
