import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Git } from '../git/git.ts';
import { differences } from '../objects/differences.ts';
import type { Objects } from '../objects/objects.ts';
import { FOLDER_MODE } from '../objects/walk.ts';

/**
 * How many folders may be nested in each other. A transport needs seven (protocol.md §1), and no file
 * system has paths of more than about two thousand. Git calls itself for each folder on the way down,
 * and dies where its stack ends: git 2.39 between three and four thousand folders deep with the usual
 * eight megabytes, and newer ones refuse more than two thousand. Two hundred take half a megabyte.
 */
export const MOST_DEEP = 200;

/** How much of a path is named: as far as a folder in a channel. */
const NAMED_FOLDERS = 4;
const NAMED_LENGTH = 300;

/** Says where folders are nested deeper than {@link MOST_DEEP}. */
export function deepReason(path: string): string {
  return `folders are nested more than ${String(MOST_DEEP)} deep, too deep for git: ${named(path)}; the checkout goes on once they are removed from the bus`;
}

/** The beginning of a path that somebody may have made very long. */
export function named(path: string): string {
  const beginning = escapeInvisible(path.split('/', NAMED_FOLDERS).join('/'));
  return beginning.length > NAMED_LENGTH ? `${beginning.slice(0, NAMED_LENGTH)}...` : beginning;
}

/**
 * The first folder that is new at a commit, or changed, and nested too deep. Git reads the folders that
 * a checkout does not show as well, therefore these are looked at here; those that it shows are walked
 * for their size. Between two commits of an ordinary transport hardly any other folder differs. However
 * a tree is made, each of its objects is read twice at most, once together with what it replaces.
 *
 * @param from a commit that git has brought the checkout to; undefined where there is none yet
 * @param shown the folders that are passed over
 * @throws CrosstalkError `git_failed` when an object is missing
 */
export function deepFolder(
  git: Git,
  objects: Objects,
  from: string | undefined,
  to: string,
  shown: readonly string[],
): Promise<string | undefined> {
  return new Depths(git, objects, shown).first(from, to);
}

/** A folder that was found: `from` is the folder that it replaces. */
interface Found {
  path: string;
  depth: number;
  from: string | undefined;
  to: string;
}

class Depths {
  readonly #git: Git;
  readonly #objects: Objects;
  readonly #shown: ReadonlySet<string>;
  /** The folders on the way to those that are shown, which are not looked at as a whole. */
  readonly #above = new Set<string>();
  /** How many levels of folders are in a folder. */
  readonly #levels = new Map<string, number>();
  readonly #compared = new Set<string>();

  constructor(git: Git, objects: Objects, shown: readonly string[]) {
    this.#git = git;
    this.#objects = objects;
    this.#shown = new Set(shown);
    for (const path of shown)
      for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1))
        this.#above.add(path.slice(0, at));
  }

  async first(from: string | undefined, to: string): Promise<string | undefined> {
    const before = from === undefined ? undefined : `${from}^{tree}`;
    const found = await this.#inside({ path: '', depth: 0, from: before, to: `${to}^{tree}` });
    return typeof found === 'string' ? found : undefined;
  }

  /** The levels of folders in a folder as far as they were looked at; or what is nested too deep. */
  async #inside(folder: Found): Promise<number | string> {
    let levels = 0;
    // They are all listed first: for a large folder, a git process is open until then.
    for (const inner of await this.#foldersIn(folder)) {
      const below = await this.#look(inner);
      if (typeof below === 'string') return below;
      levels = Math.max(levels, 1 + below);
    }
    return levels;
  }

  async #look(folder: Found): Promise<number | string> {
    const { path, depth, from, to } = folder;
    const known = this.#levels.get(to) ?? 0;
    if (depth + known > MOST_DEEP) return path;
    if (this.#levels.has(to)) return known;
    if (this.#above.has(path)) return this.#inside(folder);
    if (from !== undefined && !this.#compared.has(to)) {
      this.#compared.add(to);
      return this.#inside(folder);
    }
    const levels = await this.#inside({ ...folder, from: undefined });
    if (typeof levels === 'number') this.#levels.set(to, levels);
    return levels;
  }

  /** The folders in a folder that are not as they were, apart from those that are shown. */
  async #foldersIn({ path, depth, from, to }: Found): Promise<Found[]> {
    const found = await differences(this.#git, this.#objects, from, to);
    const folders: Found[] = [];
    if (found.kind !== 'pairs') return folders;
    for await (const pairs of found.pairs)
      for (const { name, from: before, to: after } of pairs) {
        const inner = path === '' ? name : `${path}/${name}`;
        if (after?.mode !== FOLDER_MODE || this.#shown.has(inner)) continue;
        const replaced = before?.mode === FOLDER_MODE ? before.oid : undefined;
        folders.push({ path: inner, depth: depth + 1, from: replaced, to: after.oid });
      }
    return folders;
  }
}
