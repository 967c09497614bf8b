import { access, readdir, realpath, rm } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { assertOurs, claim, clear, cloneId, isTaken, readId, startedOf } from './clone-id.ts';
import { assertOwnContent, assertOwnHome, assertOwnState } from './place/owner.ts';
import { foreignHand, tighten } from './place/private.ts';
import { hasKey, makeKey } from '../store/seal.ts';
import { registryFile, type CloneFolder } from './registry.ts';
import { namesOf, statePaths, type StatePaths } from './state-paths.ts';

/**
 * Whether a folder below one that anybody may write to belongs to us alone, and not to somebody who made
 * it first.
 *
 * @param options `make`: whether to make the folder
 */
export async function isPrivate(folder: string, { make }: { make: boolean }): Promise<boolean> {
  for (const path of [dirname(folder), folder]) {
    if (make) await makeFolder(path, 0o700).catch(() => undefined);
    const isThere = await exists(path);
    if (!isThere || foreignHand(path, 'folder') !== undefined) return false;
  }
  return true;
}

/**
 * Returns the paths where a dispatcher would listen for the transport at a folder, and where the pinned
 * keys would be; nothing is made or moved. Undefined when this needs the full check, for example because
 * another user owns the place.
 */
export function likelyState(
  environment: NodeJS.ProcessEnv,
  dir: string,
): Pick<StatePaths, 'root' | 'socket' | 'pins' | 'seen'> | undefined {
  const given = environment['CROSSTALK_STATE_DIR'] ?? '';
  const id = given === '' ? readId(join(dir, '.git')) : undefined;
  if (given === '' && id === undefined) return undefined;
  const root = id === undefined ? resolve(given) : join(stateHome(environment), id);
  try {
    assertOwnState(root, 'CROSSTALK_STATE_DIR');
    return statePaths(root);
  } catch {
    return undefined;
  }
}

/**
 * Returns the folder of all transports' state. A variable that is empty or names a relative path counts
 * as not set, as the XDG Base Directory Specification demands: otherwise the state would depend on the
 * working directory.
 */
export function stateHome(environment: NodeJS.ProcessEnv): string {
  const base = absolute(environment['XDG_STATE_HOME']);
  return join(base ?? join(userHome(environment), '.local', 'state'), 'crosstalk');
}

/**
 * Returns the user's home. The system's user database is asked last, because in a container it may not
 * know the user.
 */
function userHome(environment: NodeJS.ProcessEnv): string {
  return absolute(environment['HOME']) ?? absolute(homedir()) ?? userInfo().homedir;
}

function absolute(path = ''): string | undefined {
  return isAbsolute(path) ? path : undefined;
}

/** A clone's state directory, and whether this machine has used the clone before. */
export interface CloneState {
  paths: StatePaths;
  started: Awaited<ReturnType<typeof startedOf>>;
}

/**
 * Returns the state directory of a clone: `$CROSSTALK_STATE_DIR`, else below
 * `${XDG_STATE_HOME:-~/.local/state}/crosstalk` by the clone's id (trust.md §2).
 *
 * @param names the possible names of a state of 6.0.0, the likeliest first
 */
export async function stateDirectory(
  environment: NodeJS.ProcessEnv,
  clone: CloneFolder,
  names: () => Promise<string[]>,
): Promise<CloneState> {
  const home = stateHome(environment);
  const given = environment['CROSSTALK_STATE_DIR'] ?? '';
  const stateOf = (id: string): string => (given === '' ? join(home, id) : resolve(given));
  const variable = given === '' ? 'XDG_STATE_HOME' : 'CROSSTALK_STATE_DIR';
  // This check comes before anything is read or written there: the id of the clone is kept in the folder
  // of all.
  if (given !== '') assertOwnState(resolve(given), variable);
  assertOwnHome(home);
  assertOwnState(dirname(registryFile(home, clone.commonDir)), 'XDG_STATE_HOME');
  const { id, isNew } = await cloneId(home, clone, stateOf, names);
  const root = given === '' ? stateOf(id) : await inGiven(given, clone, id);
  assertOwnState(root, variable);
  const paths = await create(root, variable);
  // Somebody may have made it in between.
  assertOwnState(root, variable);
  if (given !== '') await assertOurs(paths.root, paths);
  if (isNew) await clear(paths.root, paths, clone);
  await claim(paths.root, clone);
  return { paths, started: await startedOf(home, clone, stateOf(id)) };
}

/** Removes the record of a clone, and our own git directory for it. */
export async function forgetClone({ git, settings }: StatePaths): Promise<void> {
  await rm(git, { recursive: true, force: true });
  await rm(settings, { force: true });
}

/**
 * Returns the state directory below a given one: the given one belongs to the first clone that used it;
 * other clones get a folder in it.
 */
async function inGiven(given: string, clone: CloneFolder, id: string): Promise<string> {
  const root = resolve(given);
  return (await isTaken(root, clone)) ? join(root, 'clones', id) : root;
}

async function create(
  root: string,
  variable: Parameters<typeof assertOwnState>[1],
): Promise<StatePaths> {
  try {
    await makeFolder(root, 0o700);
  } catch (error) {
    throw new CrosstalkError(
      'refused',
      `cannot make the state directory ${root}: ${reasonOf(error)}; give another with CROSSTALK_STATE_DIR`,
      { cause: error },
    );
  }
  const paths = statePaths(root);
  // This check comes before the rights of others are removed, which would hide that they had them. One's
  // own symlink may lead to a folder that is open to others.
  const place = await realpath(root);
  await assertOwnContent(place, namesOf(paths), variable);
  await tighten(place, namesOf(paths));
  if (!hasKey(root)) makeKey(root);
  return paths;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Folders in which 6.0 kept unsent and failed messages, a file each. */
const OF_SIX = ['outbox', 'dead-letters'];

/**
 * Lists the records that are ignored: `.broken`, as they could not be read or are not sealed by this
 * machine; and those in the form of 6.0.
 */
export async function brokenRecords({ root }: Pick<StatePaths, 'root'>): Promise<string[]> {
  const named = async (folder: string, end: string): Promise<string[]> => {
    const names = await readdir(folder).catch(() => []);
    return names.filter((name) => name.endsWith(end)).map((name) => join(folder, name));
  };
  const ofSix = OF_SIX.map((name) => named(join(root, name), '.json'));
  return (await Promise.all([named(root, '.broken'), ...ofSix])).flat();
}
