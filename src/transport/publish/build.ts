import type { Commit } from '../../protocol/commit.ts';
import type { Failure } from '../git/failure.ts';
import type { Objects } from '../objects/objects.ts';
import { BRANCH_OF_PROJECT, type Repository } from '../clone/handle.ts';
import { FILE, FOLDER, formatTree, parseTree, type Tree } from '../objects/tree-object.ts';
import { hashOf, writeObject } from './loose-object.ts';

let serial = 0;

/** Asks the builders of forges to pass a commit over: they look at every branch of a project. */
function withoutCi(commit: Commit): Commit {
  return { ...commit, subject: `[skip ci] ${commit.subject}` };
}

/** More files than this are left to fast-import, which packs what it writes. */
const MAX_LOOSE_FILES = 4;

/**
 * Writes commits one on another, the first on `tip`, without index or checkout.
 *
 * @returns the last one's id
 */
export async function build(
  repository: Repository,
  objects: Objects,
  tip: string | undefined,
  given: readonly Commit[],
): Promise<{ ok: true; oid: string } | { ok: false; failure: Failure }> {
  const { objectsDir, committer, branch } = repository;
  const commits = branch === BRANCH_OF_PROJECT ? given.map(withoutCi) : given;
  const files = commits.reduce(
    (sum, { files, blobs = [] }) => sum + files.length + blobs.length,
    0,
  );
  const few = files <= MAX_LOOSE_FILES && commits.every(({ clear }) => clear === undefined);
  if (few && tip !== undefined && objectsDir !== undefined) {
    // What this cannot do, git does, or says why it cannot be done.
    const oid = await writeLoose(objectsDir, objects, tip, commits, committer).catch(
      () => undefined,
    );
    if (oid !== undefined) return { ok: true, oid };
  }
  const commands = (ref: string): string =>
    commits.map((commit, index) => importCommand(ref, { commit, index }, committer, tip)).join('');
  return fastImport(repository, commands, commits.length);
}

/**
 * Writes commits by `fast-import`, which reads of the trees what lies on the way to what it changes.
 *
 * @param commands its commands, of which each commit goes to `ref` and has a mark, counted from 1
 * @param last the mark of the last one
 * @param timeout milliseconds, where it may take longer than git commands do
 * @returns the last one's id
 */
export async function fastImport(
  repository: Repository,
  commands: (ref: string) => string,
  last: number,
  timeout?: number,
): Promise<{ ok: true; oid: string } | { ok: false; failure: Failure }> {
  // fast-import wants a ref to build on. The ref belongs to this attempt alone, so no lock of a
  // dead process is in its way, and it is reset before it is written.
  const ref = `refs/crosstalk/staging-${String(process.pid)}-${String(serial++)}`;
  // What git calls a ref's value when there is none.
  const none = '0'.repeat(repository.isSha256 === true ? 64 : 40);
  const end = `get-mark :${String(last)}\nreset ${ref}\nfrom ${none}\n\ndone\n`;
  const outcome = await repository.git.run(
    ['fast-import', '--quiet', '--force', '--date-format=raw'],
    {
      input: `feature done\n${commands(ref)}${end}`,
      ...(timeout !== undefined && { timeout }),
    },
  );
  return outcome.ok
    ? { ok: true, oid: outcome.stdout.toString('utf8').trim() }
    : { ok: false, failure: outcome.failure };
}

function importCommand(
  ref: string,
  { commit, index }: { commit: Commit; index: number },
  committer: { name: string; email: string },
  tip: string | undefined,
): string {
  const time = `${String(Math.floor(Date.parse(commit.at) / 1000))} +0000`;
  const parent = index > 0 ? `from :${String(index)}\n` : tip === undefined ? '' : `from ${tip}\n`;
  return [
    `commit ${ref}\nmark :${String(index + 1)}\n`,
    `author ${commit.author.name} <${commit.author.email}> ${time}\n`,
    `committer ${committer.name} <${committer.email}> ${time}\n`,
    data(`${commit.subject}\n`),
    parent,
    commit.clear === undefined ? '' : `D ${commit.clear}\n`,
    ...(commit.blobs ?? []).map(({ path, oid = '' }) => `M 100644 ${oid} ${path}\n`),
    ...commit.files.map(({ path, content }) => `M 100644 inline ${path}\n${data(content)}`),
    '\n',
  ].join('');
}

/** Text as a command of `fast-import` takes it. */
export function data(text: string): string {
  return `data ${String(Buffer.byteLength(text))}\n${text}\n`;
}

/**
 * Writes commits as loose objects from this process: for the few of a quiet moment, where starting
 * `fast-import` would take several times as long as its work. Git reads them like its own. The
 * dozen small files are written synchronously: waiting for each would take longer.
 *
 * Objects are named by their content and appear whole, by rename; ones that nothing comes to refer
 * to are git's to prune.
 *
 * @param objectsDir the repository's object folder
 * @param tip the commit to build on; its trees are read through the open git process
 * @returns the last commit's id
 * @throws Error when a tree cannot be read or the disk does not take an object
 */
async function writeLoose(
  objectsDir: string,
  objects: Objects,
  tip: string,
  commits: readonly Commit[],
  committer: { name: string; email: string },
): Promise<string> {
  const writer = new Writer(objectsDir, objects, hashOf(tip));
  let root = (await objects.read(`${tip}^{tree}`))?.oid;
  let parent = tip;
  for (const { author, at, subject, files, blobs = [] } of commits) {
    for (const { path, oid = '' } of blobs) root = await writer.place(root, path.split('/'), oid);
    for (const { path, content } of files) {
      const blob = writer.write('blob', Buffer.from(content));
      root = await writer.place(root, Buffer.from(path).toString('latin1').split('/'), blob);
    }
    const time = `${String(Math.floor(Date.parse(at) / 1000))} +0000`;
    const text = [
      `tree ${root ?? ''}`,
      `parent ${parent}`,
      `author ${author.name} <${author.email}> ${time}`,
      `committer ${committer.name} <${committer.email}> ${time}`,
      '',
      `${subject}\n`,
    ].join('\n');
    parent = writer.write('commit', Buffer.from(text));
  }
  return parent;
}

class Writer {
  readonly #dir: string;
  readonly #objects: Objects;
  readonly #hash: string;
  /** Those written so far, by their names. */
  readonly #trees = new Map<string, Tree>();

  constructor(dir: string, objects: Objects, hash: string) {
    this.#dir = dir;
    this.#objects = objects;
    this.#hash = hash;
  }

  /** The tree that is like `folder` but for a file at a path inside it. */
  async place(
    folder: string | undefined,
    [name = '', ...rest]: string[],
    blob: string,
  ): Promise<string> {
    const tree = new Map(folder === undefined ? [] : await this.#tree(folder));
    if (rest.length === 0) tree.set(name, { mode: FILE, oid: blob });
    else {
      const there = tree.get(name);
      const inner = there?.mode === FOLDER ? there.oid : undefined;
      tree.set(name, { mode: FOLDER, oid: await this.place(inner, rest, blob) });
    }
    const oid = this.write('tree', formatTree(tree));
    this.#trees.set(oid, tree);
    return oid;
  }

  write(type: 'blob' | 'tree' | 'commit', content: Buffer): string {
    return writeObject(this.#dir, this.#hash, type, content);
  }

  async #tree(oid: string): Promise<Tree> {
    const known = this.#trees.get(oid);
    if (known !== undefined) return known;
    const object = await this.#objects.read(oid);
    if (object?.type !== 'tree' || object.content === undefined)
      throw new Error(`the tree ${oid} cannot be read`);
    return parseTree(object.content, oid.length / 2);
  }
}
