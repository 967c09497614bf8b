import { dirname, join, resolve } from 'node:path';
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { inHome } from '../../agents/command-line.ts';
import { packageRoot } from '../../package.ts';
import { isWithin, type Shown, type View } from '../../runner/sandbox/mounts.ts';
import { survey, type Root, type Survey } from '../../runner/sandbox/survey.ts';
import { KEPT_BY_HAND, kindOf, real, systemPlaces } from '../../runner/sandbox/system.ts';
import { settingsOfGit, secretsOf, type Confinement, type Own } from './git-settings.ts';
import { closed, homeLink, namedPlace, toolsOf, unsafe } from './places.ts';
import { makeFolder } from '../../folder.ts';
import { plainFileAt } from '../../plain-file.ts';
import { writeDurably } from '../../state/files.ts';
import { submodulesIn } from './submodules.ts';

/** Paths of this machine that a sandbox shows, and the work after a run in it. */
export interface Plan {
  view: View;
  /** Reports which repositories are not where they were, and which are new. */
  lookAgain: () => Promise<void>;
}

/**
 * Determines the paths of this machine that a sandbox shows: those named here, and nothing else. Folders that others
 * than the packages of the system write are searched for files that cannot be shown as they are.
 *
 * @throws CrosstalkError `refused` where that cannot be done; nothing may run then
 */
export async function planOf(
  what: Confinement,
  home: string,
  own: Own,
  written: readonly string[],
): Promise<Plan> {
  const { sandbox, cwd, env, runDir } = what;
  const state = [what.stateDir, what.stateHome];
  const ofState = [...state, ...(await Promise.all(state.map(real)))];
  const isOurs = (path: string): boolean => ofState.some((one) => isWithin(path, one));
  const { workdir } = what;
  if (workdir !== undefined && (await namedPlace(inHome(workdir, home), written)) !== cwd)
    throw unsafe(`the working directory ${workdir} is no longer ${cwd}; try again`);
  const writable = [cwd];
  const named = async (paths: readonly string[]): Promise<string[]> => {
    const found = paths.map((path) => namedPlace(inHome(path, home), [...written, ...writable]));
    return (await Promise.all(found)).filter((path) => path !== undefined);
  };
  for (const path of sandbox.write) writable.push(...(await named([path])));
  /** Folders of the operator's; in the others are runs alone. */
  const places = writable.filter((path) => !isOurs(path));
  await checkHeld(what.stateDir, places);
  const read = await named(sandbox.read);
  const hide = await named(sandbox.hide);
  const system = await systemPlaces();
  const [shown, known] = await Promise.all([
    shownBeside(what, home, { explicit: [...writable, ...read], written }, system.show),
    secretsOf(what, home),
  ]);
  const show = [...system.show, ...shown, ...read.map((path) => ({ path, from: path }))];
  const secrets = [...hide, ...(await Promise.all([...known, ...state].map(real)))];
  const explicit = [...writable, ...read];
  const hidden = [...secrets, ...what.transport.gitDirs].filter(
    (path) => !explicit.includes(path) && !own.some((one) => isWithin(path, one.path)),
  );
  const installed = await programsHere();
  const roots: Root[] = [
    ...places.map((path) => ({ path, writable: true, mayBeRepository: path !== cwd })),
    ...[...shown, ...own, ...read.map((path) => ({ path, from: path }))]
      .filter(({ path, from }) => !isOurs(from) && ![...places, ...installed].includes(path))
      .map(({ path }) => ({ path, writable: false })),
  ];
  const skip = new Set([...roots.map(({ path }) => path), ...KEPT_BY_HAND, ...hidden]);
  const ofSystem = KEPT_BY_HAND.map(async (path): Promise<View['cover']> => {
    const looked = await survey([{ path, writable: false, isPublic: true }], skip);
    // A folder too large to search is not shown; a part of it can be named.
    return 'problem' in looked ? [{ path, kind: 'folder' }] : looked.cover;
  });
  const found = await survey(roots, skip);
  if ('problem' in found)
    throw unsafe(`${found.problem}; name smaller folders in workdir, write and read of the tier`);
  const fixed = await fixedIn(places, found.repositories);
  const kinds = await Promise.all(hidden.map(async (path) => ({ path, kind: await kindOf(path) })));
  const cover = kinds.flatMap(({ path, kind }): View['cover'][number][] =>
    kind === 'folder' || kind === 'file' ? [{ path, kind }] : [],
  );
  for (const { path, kind } of kinds)
    if (kind === 'closed' && places.some((place) => isWithin(path, place))) throw closed(path);
  const view: View = {
    ...system,
    ...(home !== '/' && (await kindOf(home)) === 'folder' && { home }),
    links: [...system.links, ...homeLink(env['HOME'], home)],
    ...{ show, own, fixed },
    write: [...writable, ...(runDir === undefined ? [] : [runDir])],
    cover: [...cover, ...found.cover, ...(await Promise.all(ofSystem)).flat()],
  };
  /** HOME is in memory, unless it is such a place itself or a part of it is. */
  const isInMemory = (path: string, place: string): boolean =>
    isWithin(path, home) && home !== place && isWithin(home, place);
  const isMadeIn = (path: string, place: string): boolean =>
    isWithin(path, place) && !isInMemory(path, place);
  for (const { path } of own.filter((one) => places.some((place) => isMadeIn(one.path, place))))
    if (!(await isThere(path, own)))
      throw unsafe(`${path} has to be there before a run that may write around it; make it`);
  const before = await identitiesOf(fixed);
  const again = { roots: roots.filter((root) => root.writable), skip, known: found.repositories };
  return { view, lookAgain: () => lookAgain(what, before, again) };
}

/**
 * Returns the paths that every run sees besides the system: programs in HOME, and the files of this program that a
 * run needs.
 */
async function shownBeside(
  what: Confinement,
  home: string,
  { explicit, written }: { explicit: readonly string[]; written: readonly string[] },
  system: readonly Shown[],
): Promise<Shown[]> {
  const isSeen = (path: string): boolean =>
    [...explicit, ...system.map((one) => one.path)].some((one) => isWithin(path, one));
  const ours = [what.transport.dir, ...(await programsHere())];
  const settings = { path: `${home}/.gitconfig`, from: await settingsOfGit(what) };
  return [
    ...[...(await toolsOf(home, what.env, written)), settings].filter(({ path }) => !isSeen(path)),
    ...[...ours, ...(what.binDir === undefined ? [] : [what.binDir])]
      .filter((path) => !system.some((one) => isWithin(path, one.path)))
      .map((path) => ({ path, from: path })),
  ];
}

/** Returns the folders of this program and of its node, which their installers fill. */
async function programsHere(): Promise<string[]> {
  return [await real(packageRoot()), dirname(await real(process.execPath))];
}

/** Whether something can be put over a path, without that anything is made in a folder of the operator's. */
async function isThere(path: string, own: Own): Promise<boolean> {
  if (own.some((one) => one.path !== path && isWithin(path, one.path))) return true;
  return (await real(path)) === path && ['folder', 'file'].includes(await kindOf(path));
}

/** Most new repositories of one run that are reported. */
const MOST_TOLD = 20;

async function lookAgain(
  { stateDir, actor, log }: Confinement,
  before: ReadonlyMap<string, string>,
  {
    roots,
    skip,
    known,
  }: { roots: Root[]; skip: ReadonlySet<string>; known: Survey['repositories'] },
): Promise<void> {
  if (roots.length === 0) return;
  for (const path of await holdMoved(stateDir, before)) log('repository_moved', { actor, path });
  const found = await survey(roots, skip);
  if ('problem' in found) {
    log('internal_error', {
      actor,
      error: `its folders cannot be looked through: ${found.problem}`,
    });
    return;
  }
  const paths = new Set(known.map((one) => one.path));
  for (const { path } of found.repositories
    .filter((one) => !paths.has(one.path))
    .slice(0, MOST_TOLD))
    log('repository_new', { actor, path });
}

/*
 * Git executes programs that a repository contains or names. So in folders of the operator's that runs may write,
 * each repository is unwritable, and its place fixed (see `mountsOf`). After a run it is looked again whether each is
 * where it was: a run that began before a repository was there does not know of it.
 */

type Found = Survey['repositories'];

/**
 * Returns the paths that have to be unwritable in folders that runs may write, so that no git of the operator's
 * executes what they write: git directories, files that stand for one with what they lead to, and the folders of
 * submodules that are not there yet.
 *
 * @param places the folders that runs may write, without symlinks
 * @throws CrosstalkError `refused` for a repository that no mount can keep
 */
async function fixedIn(places: readonly string[], found: Found): Promise<string[]> {
  const fixed = found.map(({ path }) => path);
  const isIn = (path: string): boolean => places.some((place) => isWithin(path, place));
  for (const { path, kind } of found) {
    if (kind === 'link')
      throw unsafe(
        `${path} is a symlink in a folder that runs may write, so that one of them could put another repository in its place; have a file say where it is instead, as git init --separate-git-dir writes it, or give the actor a worktree`,
      );
    const git = kind === 'file' ? namedBy(path) : path;
    if (git === undefined) continue;
    const common = commonOf(git);
    for (const one of kind === 'file' ? [git, common] : [common]) {
      const place = await real(one);
      if (!isIn(place) || fixed.includes(place)) continue;
      if ((await kindOf(place)) !== 'folder')
        throw unsafe(
          `${path} leads to ${place}, which is missing, in a folder that runs may write: one of them could make a repository there; remove ${path}, or make its repository again`,
        );
      fixed.push(place);
    }
    if (!path.endsWith('/.git')) continue;
    for (const name of await submodulesIn(git)) {
      const folder = join(dirname(path), name);
      if (fixed.includes(`${folder}/.git`) || !isIn(folder)) continue;
      if ((await real(folder)) !== folder || (await kindOf(folder)) !== 'folder')
        throw unsafe(
          `the folder ${folder} of a submodule is missing, so that a run could make a repository there; make it with: git -C ${dirname(path)} checkout -- ${name}`,
        );
      fixed.push(folder);
    }
  }
  // A path in a folder that is unwritable is unwritable too.
  return [...new Set(fixed)].filter(
    (path) => !fixed.some((one) => one !== path && isWithin(path, one)),
  );
}

/** A file of a repository is not read if it is larger. */
const MOST_BYTES = 4096;

function smallText(path: string): string {
  const found = plainFileAt(path, MOST_BYTES, { follow: false });
  if (found.kind === 'odd') throw closed(path);
  return found.kind === 'text' ? found.text : '';
}

/** Returns the git directory that a file stands for. */
function namedBy(file: string): string | undefined {
  const named = /^gitdir: ([^\n]+)/.exec(smallText(file))?.[1]?.trim() ?? '';
  return named === '' ? undefined : resolve(dirname(file), named);
}

/** Returns the git directory with the settings of one. */
function commonOf(git: string): string {
  const named = smallText(join(git, 'commondir')).trim();
  return named === '' ? git : resolve(git, named);
}

/** Returns the identity of the file at a path, so that another one in its place is noticed. */
async function identityOf(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined);
  return found === undefined ? '' : `${String(found.dev)}:${String(found.ino)}`;
}

/** Which repositories are where, before a run. */
async function identitiesOf(fixed: readonly string[]): Promise<Map<string, string>> {
  const all = fixed.map(async (path) => [path, await identityOf(path)] as const);
  return new Map(await Promise.all(all));
}

/** Holds those of some repositories that are not where they were; later runs are kept from their folders. */
async function holdMoved(stateDir: string, before: ReadonlyMap<string, string>): Promise<string[]> {
  const moved: string[] = [];
  for (const [path, identity] of before) {
    if ((await identityOf(path)) === identity) continue;
    moved.push(path);
    await makeFolder(heldIn(stateDir), 0o700);
    const name = createHash('sha256').update(path).digest('hex').slice(0, 16);
    await writeDurably(join(heldIn(stateDir), name), JSON.stringify({ path, identity }));
  }
  return moved;
}

/**
 * @throws CrosstalkError `refused` while a repository is missing that has been moved away during a run from a
 *   folder that this run may write
 */
async function checkHeld(stateDir: string, places: readonly string[]): Promise<void> {
  for (const name of await readdir(heldIn(stateDir)).catch(() => [])) {
    const file = join(heldIn(stateDir), name);
    const { path, identity } = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
    if (path === undefined || !places.some((place) => isWithin(path, place))) continue;
    if ((await identityOf(path)) === identity) await rm(file, { force: true });
    else
      throw unsafe(
        `the repository ${path} was moved or replaced during a run that could write there; see what is in its place before you use git in it, and then remove ${file}`,
      );
  }
}

function heldIn(stateDir: string): string {
  // No actor has such a name.
  return join(stateDir, 'sandbox', '.moved');
}
