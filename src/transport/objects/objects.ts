import { setImmediate as immediate } from 'node:timers/promises';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Git } from '../git/git.ts';
import { isAnswer, summary } from '../git/failure.ts';
import { CrosstalkError } from '../../errors.ts';
import { FOLDER, parseTree } from './tree-object.ts';

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
  /** Bytes of processes that were closed or have ended. */
  #bytes = 0;

  /** @param limit bytes above which an object's content is skipped */
  constructor(git: Git, limit: number) {
    this.#git = git;
    this.#limit = limit;
  }

  get reads(): number {
    return this.#reads;
  }

  /** Bytes of content requested so far, whether kept or skipped. */
  get bytes(): number {
    return this.#bytes + (this.#batch?.bytes ?? 0);
  }

  /**
   * Reads an object by id, or by a name such as `<commit>:<path>`; undefined when there is none.
   *
   * @throws CrosstalkError `git_failed` when git gave no answer, or a folder on the way cannot be read,
   *   which git treats like an empty one
   */
  async read(name: string): Promise<GitObject | undefined> {
    if (name.includes('\n')) return undefined;
    const object = await this.#request(name);
    if (object !== undefined || !name.includes(':')) return object;
    // Git reports damage on stderr, which may arrive one turn of the event loop after the answer.
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
   * Returns the ids of many objects by name, without their content, by a process of its own.
   *
   * @returns in the order of the names; undefined for a missing object
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

  /** Reads the text of a file at a commit; undefined when there is none or it is too large. */
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
   * Repeats the requests that a process left unanswered when it ended. Git crashes on a corrupt object:
   * the first open request is the suspect, and counts as missing if that happens twice. A process that
   * was killed twice proves nothing about any object.
   *
   * @param why the reason for its end, when that was not an object
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

interface GitObject {
  oid: string;
  type: string;
  size: number;
  /** Undefined when the object is larger than the limit: it was skipped, not held. */
  content: Buffer | undefined;
}

interface Request {
  name: string;
  /** Number of processes that ended while this request was their first unanswered one. */
  deaths: number;
  resolve: (object: GitObject | undefined) => void;
  reject: (error: Error) => void;
}

/** Signals with which git crashes on its input. */
const FAULTS = new Set(['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE']);
const MOST_SAID = 10_000;

/** The object being received, with its remaining bytes. */
interface Incoming {
  object: GitObject;
  left: number;
  chunks: Buffer[] | undefined;
}

/**
 * One `cat-file --batch` with its requests, which are answered in order. All state of a process is here,
 * so that nothing of an ended one can be mistaken for another's.
 */
class Batch {
  readonly #git: Git;
  readonly #limit: number;
  readonly #child: ChildProcessWithoutNullStreams;
  #waiting: Request[] = [];
  #incoming: Incoming | undefined;
  #buffer: Buffer[] = [];
  /** The end of the process's stderr. */
  #said = '';
  /** The timer that ends a process whose answer is overdue. */
  #patience: NodeJS.Timeout | undefined;
  /** Bytes of content in answers. */
  bytes = 0;

  /**
   * @param limit bytes above which an object's content is skipped
   * @param over called once it has ended, with its open requests, and the reason for its end if that was
   *   not an object
   */
  constructor(git: Git, limit: number, over: (owed: Request[], why: string | undefined) => void) {
    this.#git = git;
    this.#limit = limit;
    const child = git.open(['cat-file', '--batch']);
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
      this.#await();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-MOST_SAID);
      git.heard(this.#said);
    });
    child.stdin.on('error', () => undefined);
    child.once('error', (error) => {
      for (const { reject } of this.#waiting.splice(0))
        reject(broken(git.dir, `it could not be started: ${error.message}`));
      over([], undefined);
    });
    child.once('close', (code, signal) => {
      clearTimeout(this.#patience);
      const died = isAnswer(code, this.#said) || FAULTS.has(signal ?? '');
      over(this.#waiting.splice(0), died ? undefined : (signal ?? summary(this.#said)));
    });
  }

  ask(request: Request): void {
    const { stdin } = this.#child;
    if (this.#waiting.push(request) === 1) this.#await();
    // Requests made in one turn of the event loop go through the pipe in one piece.
    if (stdin.writableCorked === 0) {
      stdin.cork();
      process.nextTick(() => {
        stdin.uncork();
      });
    }
    stdin.write(`${request.name}\n`);
  }

  /** Closes the input: the process answers its open requests, and ends. */
  close(): void {
    const child = this.#child;
    if (this.#waiting.length === 0) clearTimeout(this.#patience);
    child.stdin.end();
    // Nobody waits for the process to end: it sees that its input is closed.
    child.unref();
    for (const stream of [child.stdout, child.stderr] as (Socket | undefined)[]) stream?.unref();
  }

  /** Restarts the timeout for the next piece of an open answer, if there is one. */
  #await(): void {
    clearTimeout(this.#patience);
    if (this.#waiting.length === 0) return;
    const { pid } = this.#child;
    this.#patience = setTimeout(() => {
      try {
        if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      } catch {
        // The process ended on its own in the meantime.
      }
    }, this.#git.patience);
  }

  #receive(chunk: Buffer): void {
    let rest: Buffer | undefined = chunk;
    while (rest !== undefined && rest.length > 0) {
      rest =
        this.#incoming === undefined
          ? this.#receiveHeader(rest)
          : this.#receiveContent(rest, this.#incoming);
    }
  }

  #receiveHeader(chunk: Buffer): Buffer | undefined {
    const end = chunk.indexOf(0x0a);
    if (end < 0) {
      this.#buffer.push(chunk);
      return undefined;
    }
    const line = Buffer.concat([...this.#buffer, chunk.subarray(0, end)]).toString('utf8');
    this.#buffer = [];
    const [, oid = '', type = '', size = ''] = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(line) ?? [];
    if (oid === '') this.#waiting.shift()?.resolve(undefined);
    else {
      const object = { oid, type, size: Number(size), content: undefined };
      this.bytes += object.size;
      this.#incoming = {
        object,
        left: object.size + 1,
        chunks: object.size <= this.#limit ? [] : undefined,
      };
    }
    return chunk.subarray(end + 1);
  }

  #receiveContent(chunk: Buffer, incoming: Incoming): Buffer | undefined {
    const part = chunk.subarray(0, incoming.left);
    incoming.chunks?.push(part);
    incoming.left -= part.length;
    if (incoming.left > 0) return undefined;
    this.#incoming = undefined;
    const { object, chunks } = incoming;
    const content = chunks && Buffer.concat(chunks).subarray(0, object.size);
    this.#waiting.shift()?.resolve({ ...object, content });
    return chunk.subarray(part.length);
  }
}

/** A reader of folders; the content is absent when it is too large to be kept in memory. */
type Read = (name: string) => Promise<{ oid: string; content: Buffer | undefined } | undefined>;

/**
 * Finds the folder on the way to a path that is listed in its parent but cannot be read, because it is
 * damaged or missing in the clone; undefined when the path really does not exist.
 *
 * @param read reads one object by a name without a path
 * @param name `<commit>:<path>`
 */
async function unreadFolder(read: Read, name: string): Promise<string | undefined> {
  const colon = name.indexOf(':');
  const commit = name.slice(0, colon);
  let folder = await read(`${commit}^{tree}`);
  if (folder === undefined)
    return (await read(commit)) === undefined ? undefined : `${commit}^{tree}`;
  for (const part of name.slice(colon + 1).split('/')) {
    // A folder too large to be kept in memory was searched by git itself.
    if (folder.content === undefined) return undefined;
    const entries = parseTree(folder.content, folder.oid.length / 2);
    const entry = entries.get(Buffer.from(part, 'utf8').toString('latin1'));
    if (entry?.mode !== FOLDER) return undefined;
    const inner = await read(entry.oid);
    if (inner === undefined) return entry.oid;
    folder = inner;
  }
  return undefined;
}

/** Builds the error for a folder that must exist. */
export function unreadable(dir: string, folder: string): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `the folder ${folder} cannot be read in ${dir}; if crosstalk sync does not bring it again, check the repository with: git -C ${dir} fsck`,
  );
}

/** Builds the error for a git that ends without an answer. */
function broken(dir: string, why: string): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `git cat-file did not answer in ${dir}: ${why || 'no reason given'}; nothing is lost, try again`,
  );
}
