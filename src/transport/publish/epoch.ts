import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { data, fastImport, moveSolo } from './build.ts';
import type { Failure } from '../git/failure.ts';
import { writeRef } from '../clone/refs.ts';
import type { Objects } from '../objects/objects.ts';
import { isAncestor } from '../objects/lineage.ts';
import { fetchBranch, notePushed, pushCommit } from '../clone/remote.ts';
import type { Repository } from '../clone/handle.ts';
import type { TreeEntry } from '../objects/tree.ts';

/** Trailer in the root of an epoch's history: the last commit of the history before it. */
const ARCHIVED = 'Crosstalk-Archived';
/** Trailer in a commit that restores files of an earlier epoch. */
const RESTORED = 'Crosstalk-Restored';

/** Pattern of a commit's id, except the id that stands for no commit. */
const OID = /^(?!0+$)[0-9a-f]{40}([0-9a-f]{24})?$/;

/**
 * Maximum number of restores that are read: an operator restores an archive now and then, but anyone can
 * claim to have done so in each commit.
 */
const MAX_RESTORED = 100;

/** Milliseconds for a git command that walks a whole history. */
const LONG = { timeout: 3_600_000 };

/** Hexadecimal digits of an id in a repository of the usual object format. */
const SHA1_LENGTH = 40;

/** Trailer with the bundle's checksum, next to {@link ARCHIVED}. */
const CHECKSUM = 'Crosstalk-Bundle-SHA256';

/**
 * Epochs of a transport: a bundle keeps the whole history so far, and a new root commit continues with
 * the files that are still needed. Hosts recognise such a root by its trailers, so that for them the
 * history continues.
 */
export class Epochs {
  readonly #repository: Repository;
  readonly #objects: Objects;

  constructor(repository: Repository, objects: Objects) {
    this.#repository = repository;
    this.#objects = objects;
  }

  /**
   * Whether a commit known here belongs to a history that an epoch of `tip` has archived: to the history
   * that the epoch names, if that is known here, or else to a history with another root. A history with
   * the epoch's own root was rewritten since.
   */
  async succeeds(commit: string, tip: string): Promise<boolean> {
    const archived = await this.archivedBy(tip);
    const { git } = this.#repository;
    const isHere = async (oid: string): Promise<boolean> =>
      (await this.#objects.read(`${oid}^{tree}`)) !== undefined;
    if (archived === undefined || !(await isHere(commit))) return false;
    if (await isHere(archived)) return isAncestor(git, commit, archived);
    const rootsOf = async (of: string): Promise<string> =>
      (await git.must(['rev-list', '--max-parents=0', of])).toString('utf8').trim();
    return (await rootsOf(commit)) !== (await rootsOf(tip));
  }

  /**
   * Whether all of the history of `commit` was on the bus, although `tip` does not continue it: then
   * nothing is lost by leaving it. Either somebody has rewritten the history, or an epoch of `tip` has
   * archived it.
   */
  async isLeftBehind(commit: string, tip: string): Promise<boolean> {
    if (await this.#wasOnBus(commit)) return true;
    const archived = await this.archivedBy(tip);
    if (archived === undefined) return false;
    const { git } = this.#repository;
    return (await git.run(['merge-base', '--is-ancestor', commit, archived])).ok;
  }

  /** Whether a commit was on the bus, according to the commits that our own tracking branch has named. */
  async #wasOnBus(commit: string): Promise<boolean> {
    const { git, gitDir, branch } = this.#repository;
    const log = join(gitDir, 'logs', 'refs', 'remotes', 'origin', branch);
    const lines = (await readFile(log, 'latin1').catch(() => '')).split('\n');
    const seen = new Set(
      lines.flatMap((line) => line.split(' ', 2)).filter((oid) => OID.test(oid)),
    );
    if (seen.has(commit)) return true;
    if (seen.size === 0) return false;
    const input = [commit, ...[...seen].map((oid) => `^${oid}`), ''].join('\n');
    const args = ['rev-list', '--max-count=1', '--ignore-missing', '--stdin'];
    const never = await git.run(args, { ...LONG, input });
    return never.ok && never.stdout.length === 0;
  }

  /** Returns the last commit of the archived history, as the root of `tip` names it. */
  async archivedBy(tip: string): Promise<string | undefined> {
    const format = `--format=%(trailers:key=${ARCHIVED},valueonly)`;
    const { git } = this.#repository;
    const said = await git.must(['log', '--max-parents=0', format, tip]);
    return /^[0-9a-f]{40,64}$/m.exec(said.toString('utf8'))?.[0];
  }

  /** Lists commits between two points that have restored files from an archive; only the newest ones. */
  async restoredBy(from: string, to: string): Promise<string[]> {
    const { git } = this.#repository;
    const format = `--format=%H %(trailers:key=${RESTORED},valueonly,separator=%x20)`;
    // A call without an answer does not count as "none": restored files would be delivered again.
    const merges = await git.must(['log', '--merges', format, `${from}..${to}`]);
    const found = merges.toString('utf8').matchAll(/^([0-9a-f]{40,64}) [0-9a-f]{40}/gm);
    return Array.from(found, ([, merge = '']) => merge).slice(0, MAX_RESTORED);
  }

  /**
   * Writes the whole history up to a commit into a bundle, and clones that bundle to verify that it is
   * complete.
   *
   * @returns the bundle's SHA-256
   * @throws CrosstalkError `refused` in a clone without the whole history
   */
  async bundle(tip: string, file: string): Promise<string> {
    const { git, clone, partial } = this.#repository;
    const shallow = (await git.must(['rev-parse', '--is-shallow-repository'])).toString().trim();
    if (partial === true || shallow === 'true') {
      throw new CrosstalkError(
        'refused',
        `the clone ${this.#repository.dir} is ${partial === true ? 'partial' : 'shallow'}, and a bundle of it would not be whole; archive from a full clone: git clone ${this.#repository.origin ?? '<url>'}`,
      );
    }
    const scratch = await mkdtemp(join(tmpdir(), 'crosstalk-archive-'));
    try {
      // A repository whose only branch is the bus, with the objects of this one.
      const view = join(scratch, 'view.git');
      const format = tip.length > SHA1_LENGTH ? ['--object-format=sha256'] : [];
      await git.elsewhere(scratch).must(['init', '--quiet', '--bare', ...format, view]);
      await makeFolder(join(view, 'objects', 'info'));
      await writeFile(join(view, 'objects', 'info', 'alternates'), `${clone.objectsDir}\n`);
      const branch = `refs/heads/${this.#repository.branch}`;
      const inView = git.elsewhere(view);
      await inView.must(['update-ref', branch, tip]);
      await inView.must(['symbolic-ref', 'HEAD', branch]);
      await inView.must(['bundle', 'create', '--quiet', file, 'HEAD', branch], LONG);
      const copy = join(scratch, 'copy.git');
      await git.elsewhere(scratch).must(['clone', '--quiet', '--bare', file, copy], LONG);
      const copied = (await git.elsewhere(copy).must(['rev-parse', branch])).toString().trim();
      if (copied !== tip) throw new CrosstalkError('git_failed', `the bundle ${file} is not whole`);
      return await checksum(file);
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  /**
   * Replaces the history on the bus by one commit without parents that holds the files of `tip` except
   * `removed`. Nothing happens when the bus is no longer at `tip`.
   *
   * @param text the message of the commit, before the trailers added here
   */
  async begin(
    tip: string,
    removed: readonly string[],
    text: string,
    bundle: string,
  ): Promise<{ ok: true; tip: string } | { ok: false; failure: Failure }> {
    const changes = removed.map((path) => `D ${quoted(path)}\n`);
    const message = `${text}\n\n${ARCHIVED}: ${tip}\n${CHECKSUM}: ${bundle}\n`;
    const commit = await this.#commit(tip, changes, message, []);
    const failure = await this.#move(tip, commit, 'forced');
    return failure === undefined ? { ok: true, tip: commit } : { ok: false, failure };
  }

  /**
   * Fetches the history in a bundle.
   *
   * @returns its last commit
   */
  async open(file: string): Promise<string> {
    const { git } = this.#repository;
    const heads = await git.run(['bundle', 'list-heads', file]);
    const oid = /^([0-9a-f]{40,64}) refs\/heads\//m.exec(heads.stdout.toString('utf8'))?.[1];
    if (oid === undefined) {
      throw new CrosstalkError(
        'usage',
        `${file} is no archive of a transport: ${heads.ok ? 'it holds no branch' : heads.failure.reason}`,
      );
    }
    const ref = `refs/crosstalk/archives/${oid}`;
    await git.must(['fetch', '--quiet', '--no-tags', file, `+${oid}:${ref}`], LONG).catch(() =>
      // Older versions of git can fetch from bundles only by name.
      git.must(['fetch', '--quiet', '--no-tags', file, `+HEAD:${ref}`], LONG),
    );
    // The operator's own git must not remove these objects as unused.
    await writeRef(this.#repository.clone, ref, oid);
    return oid;
  }

  /** Restores files of an archived history, with a commit that joins that history to the present. */
  async restore(
    tip: string,
    archived: string,
    files: readonly TreeEntry[],
  ): Promise<{ ok: true; tip: string } | { ok: false; failure: Failure }> {
    const changes = files.map(
      ({ mode, oid, path }) => `M ${knownMode(mode)} ${oid} ${quoted(path)}\n`,
    );
    const message = `Restore ${String(files.length)} files\n\n${RESTORED}: ${archived}\n`;
    const commit = await this.#commit(tip, changes, message, [tip, archived]);
    const failure = await this.#move(tip, commit, 'forward');
    return failure === undefined ? { ok: true, tip: commit } : { ok: false, failure };
  }

  /**
   * Writes a commit with the changed tree of `tip`. There is no index, which would hold every path: a
   * kilobyte of nested folders has billions. Folders without changes are not even read.
   *
   * @param changes commands of `fast-import`
   * @throws CrosstalkError `git_failed`
   */
  async #commit(
    tip: string,
    changes: readonly string[],
    message: string,
    parents: readonly string[],
  ): Promise<string> {
    const { git, committer } = this.#repository;
    const tree = (await git.must(['rev-parse', `${tip}^{tree}`])).toString('utf8').trim();
    const by = `${committer.name} <${committer.email}> ${String(Math.floor(Date.now() / 1000))} +0000`;
    const commands = (ref: string): string =>
      [
        `commit ${ref}\nmark :1\nauthor ${by}\ncommitter ${by}\n`,
        data(message),
        ...parents.map((parent, index) => `${index === 0 ? 'from' : 'merge'} ${parent}\n`),
        `M 040000 ${tree} ""\n`,
        ...changes,
        '\n',
      ].join('');
    const built = await fastImport(this.#repository, commands, 1, LONG.timeout);
    if (built.ok) return built.oid;
    throw new CrosstalkError('git_failed', `git fast-import: ${built.failure.reason}`);
  }

  async #move(from: string, to: string, how: 'forced' | 'forward'): Promise<Failure | undefined> {
    if (this.#repository.origin === undefined) return moveSolo(this.#repository, from, to);
    const failure = await pushCommit(
      this.#repository,
      to,
      how === 'forced' ? { expected: from } : {},
    );
    if (failure !== undefined && !(await this.#isTaken(to, failure))) return failure;
    await notePushed(this.#repository, from, to);
    return undefined;
  }

  /**
   * Whether the remote has accepted a push although its answer was lost.
   *
   * @throws CrosstalkError `git_failed` with the kind `no_answer` when this cannot be determined
   */
  async #isTaken(to: string, failure: Failure): Promise<boolean> {
    if (REFUSED.has(failure.kind)) return false;
    const { git, branch, dir } = this.#repository;
    const fetched = await fetchBranch(this.#repository, this.#objects);
    const known = fetched.ok
      ? await isAncestor(git, to, `refs/remotes/origin/${branch}`).catch(() => undefined)
      : undefined;
    if (known !== undefined) return known;
    throw new CrosstalkError(
      'git_failed',
      `the push from ${dir} got no answer: ${failure.reason || 'no reason given'}; whether the bus has the new history shows with: crosstalk sync; until then keep the bundle, if one was written`,
      { data: { kind: 'no_answer' } },
    );
  }
}

/** Failures with which the remote has certainly not accepted a push. */
const REFUSED = new Set(['behind', 'contention', 'rejected', 'too_large', 'auth']);

/** Quotes any path for `fast-import`. */
function quoted(path: string): string {
  const bytes = path.replace(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
  return `"${bytes}"`;
}

/** Converts the file modes in old trees to those that git treats them as. */
function knownMode(mode: string): string {
  if (!mode.startsWith('100')) return mode;
  return (Number.parseInt(mode, 8) & 0o100) === 0 ? '100644' : '100755';
}

async function checksum(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
