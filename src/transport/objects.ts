import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { CrosstalkError } from '../errors.ts';
import type { Git } from './git.ts';

export interface GitObject {
  oid: string;
  type: string;
  size: number;
  /** Undefined when the object is larger than the limit: it was skipped, not held. */
  content: Buffer | undefined;
}

interface Request {
  name: string;
  /** How many processes ended while this one was the first they had to answer. */
  deaths: number;
  resolve: (object: GitObject | undefined) => void;
  reject: (error: Error) => void;
}

/** What is being received: the rest of one object. */
interface Incoming {
  object: GitObject;
  left: number;
  chunks: Buffer[] | undefined;
}

/**
 * Objects of a repository through one open `cat-file --batch`, started at the first read and
 * again after it died. Answers come in the order of the requests.
 */
export class Objects {
  readonly #git: Git;
  readonly #limit: number;
  #child: ChildProcessWithoutNullStreams | undefined;
  #waiting: Request[] = [];
  #incoming: Incoming | undefined;
  #buffer: Buffer[] = [];
  #reads = 0;
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
    return this.#bytes;
  }

  /** Reads an object by id, or by a name such as `<commit>:<path>`; undefined when there is none. */
  read(name: string): Promise<GitObject | undefined> {
    if (name.includes('\n')) return Promise.resolve(undefined);
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
    this.#child ??= this.#start();
  }

  #ask(request: Request): void {
    const child = (this.#child ??= this.#start());
    this.#waiting.push(request);
    // What is asked for in one breath goes through the pipe in one piece.
    if (child.stdin.writableCorked === 0) {
      child.stdin.cork();
      process.nextTick(() => {
        child.stdin.uncork();
      });
    }
    child.stdin.write(`${request.name}\n`);
  }

  /** The text of a file at a commit; undefined when there is none or it is too large. */
  async text(commit: string, path: string): Promise<string | undefined> {
    const object = await this.read(`${commit}:${path}`);
    return object?.type === 'blob' ? object.content?.toString('utf8') : undefined;
  }

  /** Ends the git process; a later read starts another. */
  close(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.stdin.end();
    // Nobody waits for its end: it sees that its input is closed.
    child?.unref();
    for (const stream of [child?.stdout, child?.stderr] as (Socket | undefined)[]) stream?.unref();
  }

  #start(): ChildProcessWithoutNullStreams {
    const child = this.#git.open(['cat-file', '--batch']);
    this.#incoming = undefined;
    this.#buffer = [];
    child.stdout.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
    });
    child.stderr.resume();
    child.stdin.on('error', () => undefined);
    child.once('error', (error) => {
      if (this.#child === child) this.#child = undefined;
      for (const { reject } of this.#waiting.splice(0)) reject(broken(this.#git.dir, error));
    });
    child.once('close', () => {
      if (this.#child === child) this.#child = undefined;
      this.#again();
    });
    return child;
  }

  /**
   * What a process left unanswered when it ended is asked again. Git dies of an object that is
   * corrupt: the first request it owes is the suspect, and there is no such object if it happens
   * twice.
   */
  #again(): void {
    const [suspect, ...others] = this.#waiting.splice(0);
    if (suspect === undefined) return;
    suspect.deaths++;
    if (suspect.deaths > 1) suspect.resolve(undefined);
    for (const request of suspect.deaths > 1 ? others : [suspect, ...others]) this.#ask(request);
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
      this.#bytes += object.size;
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

function broken(dir: string, cause: Error): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `git cat-file could not be started in ${dir}: ${cause.message}; check that git is installed`,
    { cause },
  );
}
