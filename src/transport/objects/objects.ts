import { setImmediate as immediate } from 'node:timers/promises';
import type { Git } from '../git/git.ts';
import { Batch, type GitObject, type Request } from './batch.ts';
import { broken, unreadable, unreadFolder } from './way.ts';

export type { GitObject };

/**
 * Objects of a repository through one open `cat-file --batch`, started at the first read and
 * again after it died. Answers come in the order of the requests.
 */
export class Objects {
  readonly #git: Git;
  readonly #limit: number;
  #batch: Batch | undefined;
  #reads = 0;
  /** Of processes that were closed or have ended. */
  #bytes = 0;

  /** @param limit bytes above which an object's content is skipped */
  constructor(git: Git, limit: number) {
    this.#git = git;
    this.#limit = limit;
  }

  get reads(): number {
    return this.#reads;
  }

  /** Bytes of content that were asked for, whether they were kept or skipped. */
  get bytes(): number {
    return this.#bytes + (this.#batch?.bytes ?? 0);
  }

  /**
   * Reads an object by id, or by a name such as `<commit>:<path>`; undefined when there is none.
   *
   * @throws CrosstalkError `git_failed` when git could not say, or a folder on the way cannot be read:
   *   to git that looks as if nothing were in it
   */
  async read(name: string): Promise<GitObject | undefined> {
    if (name.includes('\n')) return undefined;
    const object = await this.#request(name);
    if (object !== undefined || !name.includes(':')) return object;
    // What git says of damage comes another way than its answers, and may come later by a turn.
    await immediate();
    const unread = this.#git.hasMetDamage
      ? await unreadFolder((one) => this.#request(one), name)
      : undefined;
    if (unread !== undefined) throw unreadable(this.#git.dir, unread);
    return undefined;
  }

  #request(name: string): Promise<GitObject | undefined> {
    this.#reads++;
    return new Promise((resolve, reject) => {
      this.#ask({ name, deaths: 0, resolve, reject });
    });
  }

  /**
   * The ids of many objects by name, without their content, by a process of its own.
   *
   * @returns in the order of the names; undefined where there is none
   */
  async ids(names: readonly string[]): Promise<(string | undefined)[]> {
    const input = names.map((name) => `${name.includes('\n') ? '' : name}\n`).join('');
    const out = await this.#git.must(['cat-file', '--batch-check=%(objectname)'], { input });
    const lines = out.toString('utf8').split('\n');
    return names.map((_, index) => /^[0-9a-f]{40,64}$/.exec(lines[index] ?? '')?.[0]);
  }

  /** Starts the process ahead of the first read. */
  warm(): void {
    this.#batch ??= this.#start();
  }

  #ask(request: Request): void {
    (this.#batch ??= this.#start()).ask(request);
  }

  /** The text of a file at a commit; undefined when there is none or it is too large. */
  async text(commit: string, path: string): Promise<string | undefined> {
    const object = await this.read(`${commit}:${path}`);
    return object?.type === 'blob' ? object.content?.toString('utf8') : undefined;
  }

  /** Ends the git process once it has answered; a later read starts another. */
  close(): void {
    this.#batch?.close();
    this.#left(this.#batch);
  }

  #start(): Batch {
    const batch: Batch = new Batch(this.#git, this.#limit, (owed, why) => {
      if (this.#batch === batch) this.#left(batch);
      this.#again(owed, why);
    });
    return batch;
  }

  #left(batch: Batch | undefined): void {
    this.#bytes += batch?.bytes ?? 0;
    this.#batch = undefined;
  }

  /**
   * What a process left unanswered when it ended is asked again. Git dies of an object that is
   * corrupt: the first request it owes is the suspect, and there is no such object if it happens
   * twice. A process that was killed twice says nothing of any object.
   *
   * @param why it ended, when that was for no object
   */
  #again(waiting: Request[], why: string | undefined): void {
    const [suspect, ...others] = waiting;
    if (suspect === undefined) return;
    suspect.deaths++;
    if (suspect.deaths === 1) for (const request of waiting) this.#ask(request);
    else if (why === undefined) {
      suspect.resolve(undefined);
      for (const request of others) this.#ask(request);
    } else for (const { reject } of waiting) reject(broken(this.#git.dir, why));
  }
}
