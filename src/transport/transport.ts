import { catchUp, fastForward, isOnBranch, type CheckoutState } from './checkout.ts';
import type { Failure } from './failure.ts';
import type { RemoteLimits } from './forges.ts';
import { Git } from './git.ts';
import { Objects } from './objects.ts';
import type { Commit } from './commit.ts';
import { publish, type Published, type PublishOptions, type Turns } from './publish.ts';
import { busRef, fetchBranch, findBranch, pushCommit } from './remote.ts';
import { looseObjects, maintainIfDue, staleLocks, type Maintained } from './maintenance.ts';
import { Epochs } from './epoch.ts';
import { transportId } from './identity.ts';
import { prefetch } from './partial.ts';
import type { SettingChange } from './settings.ts';
import { keepTo } from './sparse.ts';
import { configChanged, openRepository, type Repository } from './repository.ts';
import { folderUse } from '../protocol/layout.ts';
import { commitOrder } from './order.ts';
import { changesBetween, listTree, readFolder, walkFolder } from './tree.ts';
import type { TreeEntry, WalkedEntry } from './tree.ts';
import { filesContaining } from './grep.ts';
import { Repeats } from './repeats.ts';
import type { Change } from './walk.ts';

export type Refreshed =
  { ok: true; tip: string | undefined } | { ok: false; failure: Failure; tip: string | undefined };

/**
 * A transport as git sees it: reads from the object store, writes commits on the bus's tip.
 * Knows nothing of messages. Errors are {@link CrosstalkError}s with code `git_failed`.
 */
export class Transport {
  readonly objects: Objects;
  #repository: Repository;
  #branch: string;
  #configured: number;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(
    repository: Repository,
    objects: Objects,
    branch: string,
    configured: number,
    environment: NodeJS.ProcessEnv,
  ) {
    this.#repository = repository;
    this.#branch = branch;
    this.#configured = configured;
    this.#environment = environment;
    this.objects = objects;
  }

  /**
   * @param limit bytes above which a file's content is never read
   * @throws CrosstalkError `not_found` when `dir` is no git repository
   */
  static async open(
    dir: string,
    environment: NodeJS.ProcessEnv,
    limit: number,
  ): Promise<Transport> {
    const git = new Git(dir, environment);
    const objects = new Objects(git, limit);
    // Both take a moment to start, and neither needs the other.
    objects.warm();
    const repository = await openRepository(git, environment).catch((error: unknown) => {
      objects.close();
      throw error;
    });
    const [branch, configured] = await Promise.all([
      findBranch(repository),
      configChanged(repository),
    ]);
    return new Transport(repository, objects, branch, configured, environment);
  }

  get dir(): string {
    return this.#repository.dir;
  }
  get origin(): string | undefined {
    return this.#repository.origin;
  }
  /** `git config crosstalk.window`. */
  get window(): string | undefined {
    return this.#repository.window;
  }
  /** What the remote should be asked for at most; undefined without a limit. */
  get limits(): RemoteLimits | undefined {
    return this.#repository.limits;
  }
  get branch(): string {
    return this.#branch;
  }
  /** `git config crosstalk.from`. */
  get defaultFrom(): string | undefined {
    return this.#repository.from;
  }
  get id(): string {
    return transportId(this.#repository);
  }
  /** The id this transport has, or had, without an origin. */
  get soloId(): string {
    return transportId({ dir: this.#repository.dir });
  }
  /** Git processes started, objects and their bytes read so far. */
  get cost(): { processes: number; reads: number; bytes: number } {
    const { reads, bytes } = this.objects;
    return { processes: this.#repository.git.started, reads, bytes };
  }

  /** The bus's tip as known here, without asking the remote; undefined in an empty transport. */
  async tip(): Promise<string | undefined> {
    const name = `${busRef(this.#repository, this.#branch)}^{commit}`;
    return (
      (await this.objects.read(name))?.oid ??
      (await this.objects.read(`refs/heads/${this.#branch}^{commit}`))?.oid
    );
  }

  /**
   * Asks the remote for news. A remote that lacks the branch gets what is here: so a solo
   * transport moves to the origin it was given.
   */
  async refresh(signal?: AbortSignal): Promise<Refreshed> {
    await this.#rereadConfiguration();
    if (this.#repository.origin === undefined) return { ok: true, tip: await this.tip() };
    const fetched = await fetchBranch(this.#repository.git, this.#branch, signal);
    const tip = await this.tip();
    if (fetched.ok) return { ok: true, tip };
    if (fetched.failure.kind !== 'no_branch' || tip === undefined)
      return { ok: false, failure: fetched.failure, tip };
    const failure = await pushCommit(this.#repository.git, this.#branch, tip, { signal });
    return failure === undefined ? { ok: true, tip } : { ok: false, failure, tip };
  }

  /** Puts commits on the bus with one push; see {@link publish}. */
  publish(commits: readonly Commit[], options: PublishOptions = {}): Promise<Published> {
    return publish(this.#repository, this.objects, this.#branch, commits, options);
  }

  /** Brings what a partial clone lacks of these, with few fetches; see {@link prefetch}. */
  prefetch(oids: readonly string[]): Promise<void> {
    return prefetch(this.#repository, oids);
  }
  /** What differs between two commits where something of ours can be; see {@link changesBetween}. */
  changes(from: string, to: string, paths: readonly string[] = []): AsyncGenerator<Change[]> {
    return changesBetween(this.#repository.git, this.objects, from, to, paths, folderUse);
  }
  /** The entries of folders at a commit: names inside a folder are below its path. */
  async list(commit: string, folders: readonly string[]): Promise<TreeEntry[]> {
    const [only, ...more] = folders;
    const entries =
      only !== undefined && more.length === 0
        ? await readFolder(this.objects, commit, only)
        : undefined;
    return entries ?? listTree(this.#repository.git, commit, folders);
  }
  /** The files of ours below a folder at a commit, some at a time; see {@link walkFolder}. */
  walk(commit: string, folder: string): AsyncGenerator<WalkedEntry[]> {
    return walkFolder(this.#repository.git, this.objects, commit, folder, folderUse);
  }
  filesContaining(commit: string, folder: string, string: string): Promise<string[]> {
    return filesContaining(this.#repository.git, this.objects, commit, folder, string, folderUse);
  }
  order(since: string | undefined, tip: string, paths: readonly string[]): Promise<string[]> {
    return commitOrder(this.#repository.git, this.objects, since, tip, paths);
  }

  /** Whether `commit` still belongs to the history of `tip`: false after a rewrite. */
  async isAncestor(commit: string, tip: string): Promise<boolean> {
    const outcome = await this.#repository.git.run(['merge-base', '--is-ancestor', commit, tip]);
    return outcome.ok;
  }

  /** Archiving what is old; see {@link Epochs}. */
  get epochs(): Epochs {
    return new Epochs(this.#repository, this.#branch);
  }

  /** Sets a value in this clone's configuration, in force at once. */
  async configure(name: string, value: string): Promise<void> {
    await this.#repository.git.must(['config', name, value]);
    this.#configured = 0;
    await this.#rereadConfiguration();
  }

  /** What the clone's configuration says otherwise than recorded; see {@link SettingChange}. */
  changedSettings(): Promise<SettingChange[]> {
    return Promise.resolve([]);
  }
  /** Puts these changes, and exactly what they propose, in force. */
  acceptSettings(_changes: readonly SettingChange[]): Promise<void> {
    return Promise.resolve();
  }

  /** Shares ssh connections among git calls; see {@link Git.shareConnections}. */
  shareConnections(folder: string, open: boolean): void {
    this.#repository.git.shareConnections(folder, open);
  }
  closeConnections(folder: string): Promise<void> {
    return this.#repository.git.closeConnections(folder);
  }

  /** What a git command prints here, trimmed; for looking at the repository itself. */
  async git(args: readonly string[]): Promise<string> {
    return (await this.#repository.git.must(args)).toString('utf8').trim();
  }

  /** Tries a push that changes nothing; the failure, if any. */
  async probePush(): Promise<Failure | undefined> {
    const tip = await this.tip();
    if (tip === undefined) return undefined;
    return pushCommit(this.#repository.git, this.#branch, tip, { dry: true });
  }

  /** Fast-forwards the checkout to the bus's tip when that is safe. */
  async fastForward(): Promise<CheckoutState> {
    const tip = await this.tip();
    if (tip === undefined) return { state: 'current' };
    return this.#repository.origin === undefined
      ? catchUp(this.#repository, this.#branch, tip)
      : fastForward(this.#repository, this.objects, this.#branch, tip, this.epochs);
  }

  /** Whether the checkout is on the bus's branch. */
  isCheckedOut(): Promise<boolean> {
    return isOnBranch(this.#repository, this.#branch);
  }
  /** Keeps the checkout to some folders; undefined for everything. The failure, if any. */
  keepTo(folders: readonly string[] | undefined): Promise<Failure | undefined> {
    return keepTo(this.#repository, folders);
  }

  /** Packs loose objects when there are many; see {@link maintainIfDue}. */
  maintain(): Promise<Maintained | undefined> {
    return maintainIfDue(this.#repository);
  }
  staleLocks(): Promise<string[]> {
    return staleLocks(this.#repository);
  }
  looseObjects(): Promise<number> {
    return looseObjects(this.#repository.git);
  }

  close(): void {
    this.objects.close();
  }

  /** An origin added, changed or removed takes effect without a restart. */
  async #rereadConfiguration(): Promise<void> {
    const configured = await configChanged(this.#repository);
    if (configured === this.#configured) return;
    this.#configured = configured;
    this.#repository = await openRepository(this.#repository.git, this.#environment);
    this.#branch = await findBranch(this.#repository);
  }
}

export { Repeats };
export type { Change, CheckoutState, Commit, Failure, Published, SettingChange, TreeEntry, Turns };
export type { WalkedEntry };
