import { deepReason, MOST_DEEP, named } from './deep.ts';
import { isRefused } from './refused.ts';
import type { Git } from '../git/git.ts';
import type { Objects } from '../objects/objects.ts';
import type { Repository } from '../clone/handle.ts';
import type { Showing } from './showing.ts';
import { readFolder } from '../objects/tree.ts';
import { compareTrees, FOLDER_MODE, type FileChange } from '../objects/walk.ts';

/** Maximum number of files that a checkout may hold. */
export const MOST_FILES = 1_000_000;
const LESS = 'show less with: crosstalk sync --window 7d';

/** The reason why a checkout cannot hold the content of the bus. */
export interface NotHeld {
  ok: false;
  reason: string;
}

/** Returns the refusal of a checkout whose counted files exceed the limit. */
export function tooMany(): NotHeld {
  return { ok: false, reason: `it would hold more than ${String(MOST_FILES)} files; ${LESS}` };
}

/** Returns the refusal of a move that removes files too, so that the number of remaining ones is unknown. */
function tooManyChange(): NotHeld {
  return { ok: false, reason: `more than ${String(MOST_FILES)} files would change in it; ${LESS}` };
}

/** Returns the differences in the paths shown, or the reason why they are more than a checkout may hold. */
export async function changesIn(
  { git }: Pick<Repository, 'git'>,
  objects: Objects,
  from: string | undefined,
  to: string,
  { files, folders }: Pick<Showing, 'files' | 'folders'>,
): Promise<{ ok: true; changes: FileChange[] } | NotHeld> {
  const [before, after, inside] = await Promise.all([
    from === undefined ? [] : readFolder(objects, from, ''),
    readFolder(objects, to, ''),
    changesInside(git, objects, from, to, folders),
  ]);
  if (!inside.ok) return inside;
  // A folder or a submodule of that name was not shown, so the file that arrives there is new.
  const blobs = (before ?? []).filter(({ type }) => type === 'blob');
  const known = new Map(blobs.map(({ path, oid, mode }) => [path, `${mode} ${oid}`]));
  const changed = (after ?? [])
    .filter(({ path }) => files.includes(path))
    .filter(({ path, oid, mode }) => known.get(path) !== `${mode} ${oid}`)
    .map(({ path, oid, mode }): FileChange => {
      return { path, oid, mode, status: known.has(path) ? 'M' : 'A' };
    });
  return { ok: true, changes: [...changed, ...inside.changes] };
}

/** Returns the differences below some folders. */
async function changesInside(
  git: Git,
  objects: Objects,
  from: string | undefined,
  to: string,
  folders: readonly string[],
): Promise<{ ok: true; changes: FileChange[] } | NotHeld> {
  const changes: FileChange[] = [];
  const steps = folders.map((path) => ({
    path,
    from: from === undefined ? undefined : `${from}:${path}`,
    to: `${to}:${path}`,
  }));
  const use = (path: string): 'enter' | 'name' =>
    path.split('/', MOST_DEEP + 1).length <= MOST_DEEP ? 'enter' : 'name';
  for await (const some of compareTrees(git, objects, steps, use)) {
    for (const change of some) {
      if (isRefused(change.path, change.mode)) continue;
      if (change.mode !== FOLDER_MODE) changes.push(change);
      // A deep folder that is removed is no longer a problem.
      else if (change.status !== 'D' || change.unread !== undefined) return notEntered(change);
    }
    if (changes.length > MOST_FILES)
      return changes.some(({ status }) => status === 'D') ? tooManyChange() : tooMany();
  }
  return { ok: true, changes };
}

/** Returns the reason why a shown folder was not entered. */
function notEntered({ path, unread }: FileChange): NotHeld {
  if (unread === undefined) return { ok: false, reason: deepReason(path) };
  return {
    ok: false,
    reason: `${unread}: ${named(path)}; the checkout goes on once that is removed from the bus`,
  };
}
