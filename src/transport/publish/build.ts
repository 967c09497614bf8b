import type { Commit } from '../../protocol/outgoing.ts';
import type { Failure } from '../git/failure.ts';
import type { Objects } from '../objects/objects.ts';
import { BRANCH_OF_PROJECT, type Repository } from '../clone/handle.ts';
import { FILE, FOLDER, formatTree, parseTree, type Tree } from '../objects/tree-object.ts';
import { hashOf, writeObject } from './loose-object.ts';
import { failed } from '../git/git.ts';
import { writeRef } from '../clone/refs.ts';
import { emptyTree } from '../checkout/on-checkout.ts';
import { followBranch } from '../checkout/solo-checkout.ts';

let serial = 0;

/** Adds the mark that makes the CI of forges skip a commit: it runs for every branch of a project. */
function withoutCi(commit: Commit): Commit {
  return { ...commit, subject: `[skip ci] ${commit.subject}` };
}

/** Maximum number of files written as loose objects; more are left to fast-import, which packs them. */
const MAX_LOOSE_FILES = 4;

/**
 * Writes commits one on another, the first on `tip`, without index or checkout.
 *
 * @returns the id of the last one
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
    // If this fails, git does it, or gives the reason why it cannot be done.
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
 * Writes commits by `fast-import`, which reads only the trees on the way to the changed files.
 *
 * @param commands its commands, in which each commit goes to `ref` and has a mark, counted from 1
 * @param last the mark of the last commit
 * @param timeout milliseconds, when it may take longer than other git commands
 * @returns the id of the last commit
 */
export async function fastImport(
  repository: Repository,
  commands: (ref: string) => string,
  last: number,
  timeout?: number,
): Promise<{ ok: true; oid: string } | { ok: false; failure: Failure }> {
  // fast-import needs a ref to build on. The ref belongs to this attempt alone, so no lock of a dead
  // process can block it, and it is reset before it is written.
  const ref = `refs/crosstalk/staging-${String(process.pid)}-${String(serial++)}`;
  // Git's value for a ref that does not exist.
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

/** Formats text for a command of `fast-import`. */
export function data(text: string): string {
  return `data ${String(Buffer.byteLength(text))}\n${text}\n`;
}

/**
 * Writes commits as loose objects in this process: for the few commits of a quiet period, when starting
 * `fast-import` would take several times as long as its work. Git reads them like its own. The dozen
 * small files are written synchronously: waiting for each would take longer.
 *
 * Objects are named by their content and appear complete, by rename; git prunes those that nothing refers
 * to in the end.
 *
 * @param objectsDir the repository's object folder
 * @param tip the commit to build on; its trees are read through the open git process
 * @returns the last commit's id
 * @throws Error when a tree cannot be read or an object cannot be written
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
  /** The trees written so far, by their ids. */
  readonly #trees = new Map<string, Tree>();

  constructor(dir: string, objects: Objects, hash: string) {
    this.#dir = dir;
    this.#objects = objects;
    this.#hash = hash;
  }

  /** Writes a copy of `folder` with a file at a path inside it, and returns its id. */
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

/**
 * Moves the bus in solo mode, where it is the branch of the operator's clone, if that is still at `from`;
 * the checkout follows.
 *
 * @returns the failure, if any
 */
export async function moveSolo(
  repository: Repository,
  from: string | undefined,
  to: string,
): Promise<Failure | undefined> {
  const { clone, branch } = repository;
  const moved = await writeRef(clone, `refs/heads/${branch}`, to, from ?? '');
  if (!moved.ok) return { kind: moved.contention ? 'contention' : 'other', reason: moved.reason };
  if (from !== undefined) await followBranch(repository, from, to);
  return undefined;
}

/**
 * Starts a new transport: its first commit is made like all others, and its checkout is written, with our
 * own git directory. So no setting of the machine affects its content: ignored files, filters, encodings,
 * hooks.
 *
 * @throws CrosstalkError `git_failed`
 */
export async function begin(
  repository: Repository,
  objects: Objects,
  commit: Commit,
): Promise<void> {
  const fail = (command: string, failure: Failure): never => {
    throw failed(repository.dir, command, failure);
  };
  const built = await build(repository, objects, undefined, [commit]);
  if (!built.ok) return fail('fast-import', built.failure);
  const failure = await moveSolo(repository, undefined, built.oid);
  if (failure !== undefined) return fail('update-ref', failure);
  const followed = await followBranch(repository, await emptyTree(repository), built.oid);
  if (followed.state === 'left') fail('read-tree', { kind: 'other', reason: followed.reason });
}
