import type { Blob, Commit, Requirement } from '../../protocol/outgoing.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Objects } from '../objects/objects.ts';
import { readFolder } from '../objects/tree.ts';
import { blobId, hashOf } from './loose-object.ts';

/** An entry that is not published, because of files on the tip. */
export interface Refused {
  /** Its index in the entries to be published. */
  entry: number;
  path: string;
  /** The problem with it, for people. */
  reason: string;
}

/** Number of files in a commit from which on the names in a folder are read to find the new ones. */
const FEW_FILES = 10;

/**
 * Selects the commits to be built on a tip: those whose files are not there yet, of the entries that may
 * be published on it. An entry is refused whole when a requirement of one of its commits does not hold,
 * on the tip or after an entry before it, unless that commit is optional: then only that commit is left
 * out. The requirements of a commit whose files are on the tip already, byte for byte, are not checked.
 */
export async function admit(
  objects: Objects,
  tip: string | undefined,
  entries: readonly (readonly Commit[])[],
): Promise<{ missing: Commit[]; refused: Refused[] }> {
  const standing = new Standing(objects, tip);
  const missing: Commit[] = [];
  const refused: Refused[] = [];
  for (const [entry, commits] of entries.entries()) {
    const left: Commit[] = [];
    let wrong: Omit<Refused, 'entry'> | undefined;
    for (const commit of commits) {
      if (await standing.hasAll(commit)) continue;
      const problem = await unmet(standing, commit);
      if (problem !== undefined && commit.optional === true) continue;
      wrong ??= problem;
      left.push(commit);
    }
    if (wrong !== undefined) {
      refused.push({ entry, ...wrong });
      continue;
    }
    for (const commit of left) {
      standing.write(commit);
      missing.push(commit);
    }
  }
  return { missing, refused };
}

async function unmet(
  standing: Standing,
  { requires = [], blobs = [] }: Commit,
): Promise<Omit<Refused, 'entry'> | undefined> {
  const lost = blobs.find(({ oid }) => oid === undefined);
  if (lost !== undefined)
    return {
      path: lost.path,
      reason: `the bytes of ${lost.path} are not in the outbox any more, or are not what was attached; send the message again`,
    };
  for (const { path, oid, orAbsent } of requires) {
    const there = await standing.oidAt(path);
    if (there !== oid && !(orAbsent === true && there === null))
      return { path, reason: unmetReason({ path, oid }, there) };
  }
  return undefined;
}

function unmetReason({ path: name, oid }: Requirement, there: string | null): string {
  const path = escapeInvisible(name);
  if (oid === null) return `another file stands at ${path} on the bus, and is not overwritten`;
  return there === null
    ? `${path} is gone from the bus since it was read`
    : `${path} was changed on the bus since it was read`;
}

/** The files at paths of a tip, together with those of the commits to be built on it. */
class Standing {
  readonly #objects: Objects;
  readonly #tip: string | undefined;
  readonly #folders = new Map<string, Promise<Set<string> | undefined>>();
  readonly #written = new Map<string, string>();
  readonly #blobs = new Map<string, string>();
  #cleared: string[] = [];

  constructor(objects: Objects, tip: string | undefined) {
    this.#objects = objects;
    this.#tip = tip;
  }

  /** Records a commit that is going to be built. */
  write({ files, blobs = [], clear }: Commit): void {
    if (clear !== undefined) {
      this.#cleared.push(`${clear}/`);
      for (const path of this.#written.keys())
        if (path.startsWith(`${clear}/`)) this.#written.delete(path);
    }
    for (const { path, content } of files) this.#written.set(path, content);
    for (const { path, oid = '' } of blobs) this.#blobs.set(path, oid);
  }

  /** Whether all files of a commit are there already, byte for byte, so that it has nothing to do. */
  async hasAll({ files, blobs = [], clear }: Commit): Promise<boolean> {
    if (clear !== undefined) return false;
    // Any other content at the path of an attached file is replaced: its name states the expected content.
    for (const blob of blobs) if (!(await this.#hasBlob(blob))) return false;
    const isLong = files.length > FEW_FILES;
    // Usually all or none of the files are there: the names show this without reading contents.
    for (const { path } of files) if (isLong && !(await this.#mayStand(path))) return false;
    const there = await Promise.all(
      files.map(async ({ path, content }) => (await this.#text(path)) === content),
    );
    return !there.includes(false);
  }

  /** Returns the id of the object at a path; null when there is none. */
  async oidAt(path: string): Promise<string | null> {
    const written = this.#written.get(path);
    if (written !== undefined) return blobId(hashOf(this.#tip ?? ''), Buffer.from(written));
    if (this.#tip === undefined || this.#isCleared(path)) return null;
    // For many files that must be new, the names in their folder show whether they are.
    if (this.#folders.has(folderOf(path)) && !(await this.#mayStand(path))) return null;
    return (await this.#objects.read(`${this.#tip}:${path}`))?.oid ?? null;
  }

  async #hasBlob({ path, oid }: Blob): Promise<boolean> {
    if (this.#blobs.has(path)) return this.#blobs.get(path) === oid;
    if (this.#tip === undefined || oid === undefined) return false;
    const there = await readFolder(this.#objects, this.#tip, folderOf(path));
    return (
      there?.some((one) => one.path === path && one.oid === oid && one.type === 'blob') === true
    );
  }

  async #text(path: string): Promise<string | undefined> {
    const written = this.#written.get(path);
    if (written !== undefined) return written;
    if (this.#tip === undefined || this.#isCleared(path)) return undefined;
    return this.#objects.text(this.#tip, path);
  }

  /** Whether a file may exist at a path, by the names in its folder, each folder read once. */
  async #mayStand(path: string): Promise<boolean> {
    const folder = folderOf(path);
    const tip = this.#tip;
    if (folder === '' || tip === undefined || this.#written.has(path)) return true;
    const known =
      this.#folders.get(folder) ??
      readFolder(this.#objects, tip, folder).then(
        (entries) => entries && new Set(entries.map((entry) => entry.path)),
      );
    this.#folders.set(folder, known);
    return (await known)?.has(path) ?? true;
  }

  #isCleared(path: string): boolean {
    return this.#cleared.some((folder) => path.startsWith(folder));
  }
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
