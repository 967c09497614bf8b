import { join } from 'node:path';
import { FILES, folderUse } from '../protocol/layout.ts';
import { fileLimits, type FileLimits } from '../protocol/attached.ts';
import { failed } from './git/git.ts';
import { entriesAt, readBlobs, weigh, type FoundBlob, type Weight } from './objects/blobs.ts';
import { filesContaining, type FileChange } from './objects/walk.ts';
import { before, hasAny, heads, notNear, mergeBase } from './objects/lineage.ts';
import { looseObjects, staleLocks } from './maintenance.ts';
import type { Objects } from './objects/objects.ts';
import { commitOrder } from './objects/order.ts';
import { identityChange, identityOf } from './clone/bus-identity.ts';
import { prefetch } from './clone/partial.ts';
import { movesSince, type LogPlace, type RefMove } from './clone/ref-log.ts';
import type { SettingChange } from './clone/settings.ts';
import { remoteRefOf, type Repository } from './clone/handle.ts';
import { watchTracked } from './clone/moves.ts';
import {
  changesBetween,
  listTree,
  readFolder,
  standing,
  walkFolder,
  type TreeEntry,
  type WalkedEntry,
} from './objects/tree.ts';

/** The queries of a transport about its commits and trees; none of them changes anything. */
export abstract class Reading {
  abstract readonly objects: Objects;
  protected abstract get repository(): Repository;

  /** `git config crosstalk.window`. */
  get window(): string | undefined {
    return this.repository.window;
  }
  /** The remote's ref that carries the bus, by its full name. */
  get remoteRef(): string {
    return remoteRefOf(this.repository);
  }

  /** Fetches those of some objects that a partial clone lacks, with few fetches; see {@link prefetch}. */
  prefetch(oids: readonly string[]): Promise<void> {
    return prefetch(this.repository, oids);
  }
  /** See {@link watchTracked}. */
  watch(moved: () => void, over: AbortSignal): void {
    watchTracked(this.repository, moved, over);
  }
  /** Returns the identity of this transport, which signatures cover; see {@link identityOf}. */
  identity(): Promise<string> {
    return identityOf(this.repository, this.objects);
  }
  /** See {@link identityChange}. */
  identityChange(): Promise<SettingChange | undefined> {
    return identityChange(this.repository, this.objects);
  }
  /** Size limits of attached files here, by `git config crosstalk.maxFileBytes`. */
  get fileLimits(): FileLimits {
    return fileLimits(this.repository.maxFileBytes);
  }
  /** Reads files of a known size at a commit, which a partial clone fetches now; see {@link readBlobs}. */
  blobs(commit: string, wanted: ReadonlyMap<string, number>): AsyncGenerator<FoundBlob> {
    const { git } = this.repository;
    return readBlobs(git, this.objects, commit, wanted, (oids) => this.prefetch(oids));
  }
  /** Measures the attached files of a commit. */
  weighFiles(commit: string): Promise<Weight> {
    const { git, partial = false } = this.repository;
    return weigh(git, commit, FILES, { isPartial: partial });
  }
  /** Returns the entries at some paths of a commit, of any type. */
  entriesAt(commit: string, paths: readonly string[]): Promise<Map<string, TreeEntry>> {
    return entriesAt(this.repository.git, this.objects, commit, paths);
  }
  /** Lists the differences of two commits in the folders of a transport; see {@link changesBetween}. */
  changes(from: string, to: string, paths: readonly string[] = []): AsyncGenerator<FileChange[]> {
    return changesBetween(this.repository.git, this.objects, from, to, paths, folderUse);
  }
  /** Lists the entries of folders at a commit, by their whole paths. */
  async list(commit: string, folders: readonly string[]): Promise<TreeEntry[]> {
    const [only, ...more] = folders;
    const entries =
      only !== undefined && more.length === 0
        ? await readFolder(this.objects, commit, only)
        : undefined;
    return entries ?? listTree(this.repository.git, commit, folders);
  }
  /** Lists the files of a transport below a folder at a commit, some at a time; see {@link walkFolder}. */
  walk(commit: string, folder: string): AsyncGenerator<WalkedEntry[]> {
    return walkFolder(this.repository.git, this.objects, commit, folder, folderUse);
  }
  filesContaining(commit: string, folder: string, string: string): Promise<string[]> {
    return filesContaining(this.repository.git, this.objects, commit, folder, string, folderUse);
  }
  order(since: string | undefined, tip: string, paths: readonly string[]): Promise<string[]> {
    return commitOrder(this.repository.git, this.objects, since, tip, paths);
  }

  /**
   * Whether `commit` still belongs to the history of `tip`: false after a rewrite.
   *
   * @throws CrosstalkError `git_failed` when git gave no answer, which does not count as "no"
   */
  async isAncestor(commit: string, tip: string): Promise<boolean> {
    if ((await notNear(this.objects, [commit], tip)).length === 0) return true;
    const args = ['merge-base', '--is-ancestor', commit, tip];
    const outcome = await this.repository.git.run(args);
    if (outcome.ok) return true;
    if (outcome.code === 1) return false;
    // The commit is gone, together with its history.
    if (outcome.code !== null && (await this.objects.read(`${tip}^{commit}`)) !== undefined) {
      if ((await this.objects.read(`${commit}^{commit}`)) === undefined) return false;
    }
    throw failed(this.repository.dir, 'merge-base', outcome.failure);
  }

  /**
   * Returns those of some commits that do not belong to the history of `tip`, without ancestors of
   * another of them, since the later one shows more of what was there. It takes one process when all of
   * them belong to it.
   */
  async outside(commits: readonly string[], tip: string): Promise<string[]> {
    const asked = await notNear(this.objects, [...new Set(commits)], tip);
    if (asked.length === 0) return [];
    if (asked.length > 1) {
      const args = ['rev-list', '--max-count=1', ...asked, `^${tip}`, '--'];
      const found = await this.repository.git.run(args);
      if (found.ok && found.stdout.length === 0) return [];
    }
    const [known, gone]: [string[], string[]] = [[], []];
    for (const commit of asked) {
      if (await this.isAncestor(commit, tip)) continue;
      const isKnown = (await this.objects.read(`${commit}^{commit}`)) !== undefined;
      (isKnown ? known : gone).push(commit);
    }
    return [...(await heads(this.repository.git, known)), ...gone];
  }

  /**
   * Returns the moves of the branch since a position in its log, made by any process of this machine,
   * since commands fetch too; and the new position.
   */
  movesSince(place?: LogPlace): Promise<{ moves: RefMove[]; place: LogPlace }> {
    const { gitDir, branch } = this.repository;
    return movesSince(join(gitDir, 'logs', 'refs', 'remotes', 'origin', branch), place);
  }

  /** Runs a git command that inspects this repository, and returns its trimmed output. */
  async git(args: readonly string[]): Promise<string> {
    return (await this.repository.git.must(args)).toString('utf8').trim();
  }
  /** Lists lock files of git that no process can hold any more. */
  staleLocks(): Promise<string[]> {
    return staleLocks(this.repository);
  }
  looseObjects(): Promise<number> {
    return looseObjects(this.repository.git);
  }

  /** Finds the commit from which two histories diverged; see {@link mergeBase}. */
  mergeBase(one: string, other: string): Promise<string | undefined> {
    return mergeBase(this.repository.git, one, other);
  }
  /** The newest commit at which something was not there yet; see {@link before}. */
  before(tip: string, isThere: (commit: string) => Promise<boolean>): Promise<string | undefined> {
    return before(this.repository.git, tip, isThere);
  }
  /** Whether any of some files can be read at a commit. */
  hasAny(commit: string, paths: readonly string[]): Promise<boolean> {
    return hasAny(this.objects, commit, paths);
  }

  /**
   * Returns those of some paths that exist at a commit, whether their content can be read or not.
   *
   * @throws CrosstalkError `git_failed` when a folder on the way to one cannot be read
   */
  async standing(commit: string, paths: readonly string[]): Promise<Set<string>> {
    return standing(this.repository.git, commit, paths);
  }
}

export type { FoundBlob, LogPlace, RefMove };
