import { mkdirSync, mkdtempSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Bus, Stored } from '../../support/bus.ts';
import { git } from '../../support/git.ts';

/** `data/` as it was when somebody removed it. */
interface Removal {
  before: string;
  commit: string;
  reverted: string[];
}

/** The remote, and what anybody who may write to it can do to its one branch. */
export class Hub {
  readonly bus: Bus;
  branch = 'main';
  /** Nothing is set back to before this commit, in which the machines join. */
  floor = '';
  /** The tips of the branch before it was set back, the newest last. */
  readonly left: string[] = [];
  readonly #removals: Removal[] = [];

  constructor(bus: Bus) {
    this.bus = bus;
  }

  get isPlugged(): boolean {
    return !existsSync(`${this.bus.hub}.unplugged`);
  }

  branches(): string[] {
    return git(this.bus.hub, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/')
      .split('\n')
      .filter((name) => name !== '');
  }

  /** The tip of the bus; undefined while it cannot be reached or is empty. */
  tip(): string | undefined {
    if (!this.isPlugged || !this.branches().includes(this.branch)) return undefined;
    return git(this.bus.hub, 'rev-parse', `refs/heads/${this.branch}`).trim();
  }

  messages(): Stored[] {
    return this.tip() === undefined ? [] : this.bus.messages(this.branch);
  }

  /** The current content of a file on the bus. */
  read(path: string): string {
    return git(this.bus.hub, 'show', `${this.branch}:${path}`);
  }

  /** Sets the branch back by this many commits, as restoring a backup does. */
  rewind(count: number): void {
    const tip = this.tip();
    if (tip === undefined || this.isRemoved) return;
    const since = git(this.bus.hub, 'rev-list', '--first-parent', `${this.floor}..${tip}`);
    const commits = [...since.split('\n').filter((oid) => oid !== ''), this.floor];
    this.#set(commits[Math.min(count, commits.length - 1)] ?? tip, tip);
  }

  /** Sets it to the tip from before it was set back last. */
  comeBack(): void {
    const tip = this.tip();
    if (tip === undefined || this.isRemoved) return;
    const to = this.left.pop();
    if (to !== undefined) this.#set(to, tip);
  }

  #set(to: string, from: string): void {
    git(this.bus.hub, 'update-ref', `refs/heads/${this.branch}`, to);
    this.left.push(from);
  }

  /** Whether somebody has removed `data/` in the current history, and not put it back. */
  get isRemoved(): boolean {
    return this.#inForce().length > 0;
  }

  #inForce(): Removal[] {
    const tip = this.tip();
    if (tip === undefined) return [];
    const holds = (oid: string): boolean =>
      git(this.bus.hub, 'rev-list', tip).split('\n').includes(oid);
    return this.#removals.filter(
      ({ commit, reverted }) => holds(commit) && !reverted.some((oid) => holds(oid)),
    );
  }

  remove(): void {
    const before = this.tip();
    if (before === undefined || this.isRemoved || this.messages().length === 0) return;
    const commit = this.#byHand((clone) => git(clone, 'rm', '--quiet', '-r', 'data'));
    this.#removals.push({ before, commit, reverted: [] });
  }

  revert(): void {
    for (const removal of this.#inForce())
      removal.reverted.push(
        this.#byHand((clone) => git(clone, 'checkout', '--quiet', removal.before, '--', 'data')),
      );
  }

  /** Removes a file from the history, as if it had never existed; the rest is unchanged. */
  drop(path: string): void {
    const tip = this.tip();
    if (tip === undefined || this.isRemoved) return;
    const clone = this.#clone();
    const adding = git(clone, 'log', '--diff-filter=A', '--format=%H', '-1', 'HEAD', '--', path);
    const commit = adding.trim();
    const range = git(clone, 'rev-list', `${this.floor}..HEAD`).split('\n');
    // Removing the last commit would be the same as setting the branch back, which is another step.
    if (!range.includes(commit) || commit === tip) return;
    git(clone, 'rebase', '--quiet', '--onto', `${commit}^`, commit);
    if (git(clone, 'ls-tree', '-r', '--name-only', 'HEAD', path) !== '') return;
    git(clone, 'push', '--quiet', '--force-with-lease', 'origin', `HEAD:${this.branch}`);
  }

  /** Puts a file there, replacing whatever is in its place. */
  put(path: string, content: string): void {
    if (this.tip() === undefined) return;
    this.#byHand((clone) => {
      mkdirSync(dirname(join(clone, path)), { recursive: true });
      writeFileSync(join(clone, path), content);
    });
  }

  /** Renames the branch, as a forge does. */
  rename(): void {
    if (this.tip() === undefined) return;
    const name = this.branch === 'main' ? 'trunk' : 'main';
    git(this.bus.hub, 'branch', '--move', this.branch, name);
    this.branch = name;
  }

  /** Deletes the branch, and prunes it in a clone whose checkout is dirty. */
  delete(dir: string): void {
    const tracking = `refs/remotes/origin/${this.branch}`;
    // Content that no machine has ever fetched under its name cannot be restored by anybody.
    if (this.tip() === undefined || git(dir, 'for-each-ref', tracking) === '') return;
    git(this.bus.hub, 'update-ref', '-d', `refs/heads/${this.branch}`);
    writeFileSync(join(dir, 'CLAUDE.md'), 'changed by the operator\n');
    git(dir, 'fetch', '--quiet', '--prune', 'origin');
  }

  unplug(): void {
    if (this.isPlugged) this.bus.unplug();
  }

  plug(): void {
    if (!this.isPlugged) this.bus.plug();
  }

  #clone(): string {
    const clone = mkdtempSync(join(this.bus.root, 'clone-'));
    git(clone, 'clone', '--quiet', '--no-local', '--branch', this.branch, this.bus.hub, '.');
    git(clone, 'config', 'advice.detachedHead', 'false');
    return clone;
  }

  /** A commit of somebody from another clone; a dispatcher may push at the same time. */
  #byHand(change: (clone: string) => unknown): string {
    for (let tries = 1; ; tries++) {
      const clone = this.#clone();
      change(clone);
      git(clone, 'add', '--all');
      git(clone, 'commit', '--quiet', '--allow-empty', '--message', 'by hand');
      try {
        git(clone, 'push', '--quiet', 'origin', `HEAD:${this.branch}`);
        return git(clone, 'rev-parse', 'HEAD').trim();
      } catch (error) {
        if (tries === 5) throw error;
      }
    }
  }
}
