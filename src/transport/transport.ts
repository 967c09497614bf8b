import { loadRecord, type CheckoutState } from './checkout/plan.ts';
import { follow } from './checkout/follow.ts';
import { refusedIn } from './checkout/refused.ts';
import { makeBranch, pushOver } from './clone/branches.ts';
import { configStamp, fileStamp, transportId } from './clone/clone.ts';
import type { Failure } from './git/failure.ts';
import type { RemoteLimits } from './clone/forges.ts';
import { Objects } from './objects/objects.ts';
import type { Commit } from '../protocol/outgoing.ts';
import {
  publish,
  type Entries,
  type PublishOptions,
  type Published,
  type Turns,
} from './publish/publish.ts';
import { inGit } from './publish/blobs.ts';
import { begin } from './publish/build.ts';
import { upstreamOf } from './publish/upstream.ts';
import { fetchMending } from './clone/mend.ts';
import { bring, knownTip, mirror, pushCommit, trackedTip } from './clone/remote.ts';
import { maintainIfDue, type Maintained } from './maintenance.ts';
import { Epochs } from './publish/epoch.ts';
import { acceptChanges, openRepository, prepare, type OpenOptions } from './clone/repository.ts';
import type { CloneDefaults, Repository } from './clone/handle.ts';
import type { SettingChange } from './clone/settings.ts';
import { showingOf, setInClone } from './checkout/showing.ts';
import { Reading } from './reading.ts';
import type { TreeEntry } from './objects/tree.ts';

/**
 * The outcome of a fetch; `mended` is the number of damaged objects of the clone that were removed, to be
 * fetched again.
 */
export type Refreshed = { tip: string | undefined; mended?: number } & (
  { ok: true } | { ok: false; failure: Failure }
);

/**
 * A transport at the level of git: it reads from the object store and writes commits on the bus's tip. It
 * does not know messages. Errors are `CrosstalkError`s with code `git_failed`.
 */
export class Transport extends Reading {
  override readonly objects: Objects;
  #repository: Repository;
  readonly #opening: OpenOptions;
  /** A stamp that shows whether a change was accepted since, by this process or another one. */
  #accepted: string;

  private constructor(
    repository: Repository,
    objects: Objects,
    opening: OpenOptions,
    accepted: string,
  ) {
    super();
    this.#repository = repository;
    this.#opening = opening;
    this.#accepted = accepted;
    this.objects = objects;
  }

  /**
   * Opens a transport from the operator's clone and our own git directory for it.
   *
   * @param limit bytes above which a file's content is never read
   * @throws CrosstalkError `git_failed` when the clone's configuration cannot be read
   */
  static async open(opening: OpenOptions, limit: number): Promise<Transport> {
    const prepared = await prepare(opening);
    const objects = new Objects(prepared.git, limit);
    // Both of these take a moment to start, and neither needs the other.
    objects.warm();
    const repository = await openRepository(opening, prepared).catch((error: unknown) => {
      objects.close();
      throw error;
    });
    return new Transport(repository, objects, opening, await fileStamp(opening.record));
  }

  protected override get repository(): Repository {
    return this.#repository;
  }
  get dir(): string {
    return this.#repository.dir;
  }
  /** The remote's URL without a password; undefined in solo mode. */
  get origin(): string | undefined {
    return this.#repository.origin;
  }
  /** Limits for requests to the remote; undefined without a limit. */
  get limits(): RemoteLimits | undefined {
    return this.#repository.limits;
  }
  /** Name of the transport in the names of services: clones of one remote share it. */
  get id(): string {
    const { dir, origin } = this.#repository;
    return transportId({ dir, ...(origin !== undefined && { origin }) });
  }
  get branch(): string {
    return this.#repository.branch;
  }
  /** Values of `git config crosstalk.from`, `.channel` and so on, of the clone or of the user. */
  get defaults(): CloneDefaults {
    return this.#repository;
  }
  /** Git processes started, objects and their bytes read so far. */
  get cost(): { processes: number; reads: number; bytes: number } {
    const { reads, bytes } = this.objects;
    return { processes: this.#repository.git.started, reads, bytes };
  }

  /** Returns the bus's tip as known here, without asking the remote; undefined in an empty transport. */
  tip(): Promise<string | undefined> {
    return knownTip(this.#repository, this.objects);
  }

  /** Fetches the bus. A remote without any branch receives the commits of this clone, which was solo before. */
  async refresh(signal?: AbortSignal): Promise<Refreshed> {
    await this.reread();
    if (this.#repository.origin === undefined) return { ok: true, tip: await this.tip() };
    const fetched = await fetchMending(this.#repository, this.objects, signal);
    const tip = await this.tip();
    if (fetched.ok) {
      if (tip !== undefined) await mirror(this.#repository, tip);
      return { ...fetched, tip };
    }
    if (fetched.failure.kind !== 'no_branch' || tip === undefined) return { ...fetched, tip };
    const hadIt = (await trackedTip(this.#repository, this.objects)) !== undefined;
    const failure = await makeBranch(this.#repository, tip, signal, hadIt);
    if (failure !== undefined) return { ok: false, failure, tip };
    await mirror(this.#repository, tip);
    return { ok: true, tip };
  }

  /** Publishes entries of commits with one push; see {@link publish}. */
  async publish(entries: Entries, options: PublishOptions = {}): Promise<Published> {
    const upstream = upstreamOf(this.#repository, this.objects);
    const { bytesOf = () => Promise.resolve(undefined) } = options;
    const named = await inGit(this.#repository, entries, bytesOf);
    return publish(upstream, named, options);
  }

  /** Epochs of the transport, for archiving; see {@link Epochs}. */
  get epochs(): Epochs {
    return new Epochs(this.#repository, this.objects);
  }

  /** Sets a value in this clone's configuration, in force at once. */
  async configure(name: string, value: string): Promise<void> {
    await setInClone(this.#repository, name, value);
    await this.reread();
  }

  /** Returns the settings of the clone that differ from the record; see {@link SettingChange}. */
  async changedSettings(): Promise<SettingChange[]> {
    await this.reread();
    return this.#repository.changes;
  }
  /** Puts these changes in force, exactly as proposed. */
  async acceptSettings(changes: readonly SettingChange[]): Promise<void> {
    if (changes.length === 0) return;
    await acceptChanges(this.#opening, changes);
    await this.reread();
  }

  /** Shares ssh connections among git calls; see {@link Git.shareConnections}. */
  shareConnections(folder: string, open: boolean): void {
    this.#repository.git.shareConnections(folder, open);
  }
  closeConnections(folder: string): Promise<void> {
    return this.#repository.git.closeConnections(folder);
  }

  /**
   * Pushes the known tip: `dry` changes nothing, `anew` is for a remote that has no bus, or has lost it;
   * see {@link pushOver} for one that has another bus.
   *
   * @returns the failure, if any: `behind` when the remote has the bus after all
   */
  async pushTip(how: 'dry' | 'anew' | { over: string }): Promise<Failure | undefined> {
    const tip = await this.tip();
    if (tip === undefined) return undefined;
    if (typeof how === 'object') return pushOver(this.#repository, tip, how.over);
    return pushCommit(this.#repository, tip, how === 'dry' ? { dry: true } : { expected: '' });
  }

  /**
   * Fast-forwards the checkout to the bus's tip when that is safe.
   *
   * @param folders the folders shown, next to single files; undefined for all that may be shown
   */
  async fastForward(folders: readonly string[] | undefined): Promise<CheckoutState> {
    const tip = await this.tip();
    if (tip === undefined) return { state: 'current' };
    const followed = await follow(this.#repository, this, tip, folders);
    // The clone's configuration was changed for its checkout: that change is ours, and need not be read later.
    await this.reread();
    return followed;
  }

  /** See {@link begin}. */
  begin(commit: Commit): Promise<void> {
    return begin(this.#repository, this.objects, commit);
  }

  /** The folder of our own git directory. */
  get own(): string {
    return this.#opening.own;
  }
  /** Fetches the bus into a clone that has nothing of it yet; files are fetched when they are read. */
  bring(): Promise<Failure | undefined> {
    return bring(this.#repository, this.objects);
  }
  /** Lists paths of the bus that no checkout shows, because they are not of a transport (trust.md §1). */
  async foreignPaths(): Promise<string[]> {
    const tip = await this.tip();
    return tip === undefined ? [] : (await showingOf(this.objects, tip)).foreign;
  }

  /** Lists paths of the bus that the checkout leaves out because git refuses them, at most so many. */
  async refusedPaths(most: number): Promise<string[]> {
    const { lacks, commit = '' } = (await loadRecord(this.#repository)) ?? {};
    return lacks === true ? refusedIn(this.#repository, this.objects, commit, most) : [];
  }

  /** See {@link maintainIfDue}. */
  maintain(): Promise<Maintained | undefined> {
    return maintainIfDue(this.#repository);
  }
  close(): void {
    this.objects.close();
  }

  /** Applies what was written into the clone's configuration, or accepted, since it was last read. */
  async reread(): Promise<void> {
    const accepted = await fileStamp(this.#opening.record);
    const stamp = await configStamp(this.#opening.clone);
    if (stamp === this.#repository.stamp && accepted === this.#accepted) return;
    const prepared = await prepare(this.#opening, this.#repository.git);
    this.#repository = await openRepository(this.#opening, prepared);
    this.#accepted = await fileStamp(this.#opening.record);
  }
}

export { Repeats } from './objects/repeats.ts';
export type { FoundBlob, LogPlace, RefMove } from './reading.ts';
export type { Failure } from './git/failure.ts';
export type { FileChange } from './objects/walk.ts';
export type { CheckoutState, Commit, Published, SettingChange, TreeEntry, Turns };
