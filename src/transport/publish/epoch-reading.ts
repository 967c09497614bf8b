import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAncestor } from '../objects/lineage.ts';
import type { Repository } from '../clone/handle.ts';

/** In the root of an epoch's history: the commit that the history before it ended with. */
export const ARCHIVED = 'Crosstalk-Archived';
/** In a commit that brings files of an earlier epoch back. */
export const RESTORED = 'Crosstalk-Restored';

/** The id of a commit, except the id that stands for no commit. */
const OID = /^(?!0+$)[0-9a-f]{40}([0-9a-f]{24})?$/;

/** An operator restores an archive now and then; anybody can claim to have done so in each commit. */
const MAX_RESTORED = 100;

/** Milliseconds for a git command that goes through a whole history. */
export const LONG = { timeout: 3_600_000 };

/** What histories say of the epochs they belong to; nothing here changes anything. */
export class EpochReading {
  readonly #repository: Repository;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /**
   * Whether a commit known here belongs to a history that an epoch of `tip` has archived: to what the
   * epoch says that it follows, where that is known here, or to a history with another beginning. One
   * that began with the epoch itself was rewritten since.
   */
  async succeeds(commit: string, tip: string): Promise<boolean> {
    const archived = await this.archivedBy(tip);
    const { git } = this.#repository;
    const isHere = async (oid: string): Promise<boolean> => {
      const input = `${oid}^{tree}\n`;
      const asked = await git.must(['cat-file', '--batch-check=%(objectname)'], { input });
      return /^[0-9a-f]{40,64}$/.test(asked.toString('latin1').trim());
    };
    if (archived === undefined || !(await isHere(commit))) return false;
    if (await isHere(archived)) return isAncestor(git, commit, archived);
    const rootsOf = async (of: string): Promise<string> =>
      (await git.must(['rev-list', '--max-parents=0', of])).toString('utf8').trim();
    return (await rootsOf(commit)) !== (await rootsOf(tip));
  }

  /**
   * Whether all of the history of `commit` was on the bus, although `tip` does not go on from it:
   * then nothing is lost by leaving it. Either somebody has rewritten the history, or an epoch of
   * `tip` has archived it.
   */
  async isLeftBehind(commit: string, tip: string): Promise<boolean> {
    if (await this.#wasOnBus(commit)) return true;
    const archived = await this.archivedBy(tip);
    if (archived === undefined) return false;
    const { git } = this.#repository;
    return (await git.run(['merge-base', '--is-ancestor', commit, archived])).ok;
  }

  /**
   * Whether a commit was on the bus, according to the commits that our own tracking branch has been
   * at.
   */
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

  /** The commit with which, as the history of `tip` says, the history before it ended. */
  async archivedBy(tip: string): Promise<string | undefined> {
    const format = `--format=%(trailers:key=${ARCHIVED},valueonly)`;
    const { git } = this.#repository;
    const said = await git.must(['log', '--max-parents=0', format, tip]);
    return /^[0-9a-f]{40,64}$/m.exec(said.toString('utf8'))?.[0];
  }

  /** Commits between two points that have brought files back from an archive, the newest of them. */
  async restoredBy(from: string, to: string): Promise<string[]> {
    const { git } = this.#repository;
    const format = `--format=%H %(trailers:key=${RESTORED},valueonly,separator=%x20)`;
    // A call without an answer does not count as "none": what came back from an archive would be
    // delivered again.
    const merges = await git.must(['log', '--merges', format, `${from}..${to}`]);
    const found = merges.toString('utf8').matchAll(/^([0-9a-f]{40,64}) [0-9a-f]{40}/gm);
    return Array.from(found, ([, merge = '']) => merge).slice(0, MAX_RESTORED);
  }
}
