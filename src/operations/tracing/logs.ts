import { open, stat, type FileHandle } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../errors.ts';
import { LOG_LIMITS, logFile } from '../../state/rotating-log.ts';

export { RotatingLog } from '../../state/rotating-log.ts';

/** One event of the dispatcher's log. */
export interface LogLine {
  /** ISO 8601 UTC. */
  ts: string;
  level: string;
  event: string;
  fields: Readonly<Record<string, unknown>>;
  /** As it stands in the file. */
  raw: string;
}

export interface LogsInput {
  /** At most so many, the newest. */
  limit: number;
  since?: Date;
  /** Which are wanted. */
  wanted: (line: LogLine) => boolean;
}

const CHUNK = 256 * 1024;
/** How soon a new line is seen. Milliseconds. */
const LOOK_MS = 200;

/** A line of the log; undefined for what is none, such as one that a full disk cut off. */
function parseLogLine(raw: string): LogLine | undefined {
  try {
    const { ts, level, event, ...fields } = JSON.parse(raw) as Record<string, unknown>;
    if (
      typeof ts !== 'string' ||
      Number.isNaN(Date.parse(ts)) ||
      typeof level !== 'string' ||
      typeof event !== 'string'
    )
      return undefined;
    return { ts, level, event, fields, raw };
  } catch {
    return undefined;
  }
}

/**
 * The newest lines of a log with its rotated files, oldest first, and with `follow` what is written
 * from then on until that is aborted, also when the log is begun anew meanwhile. The cost follows
 * what is read back to, not how long the log is.
 */
export async function* logs(
  path: string,
  input: LogsInput,
  follow?: AbortSignal,
): AsyncGenerator<LogLine> {
  const reader = follow && (await Reader.open(path, 'end'));
  // One that is not there yet is followed from its beginning.
  const newest = follow !== undefined && reader === undefined ? 1 : 0;
  yield* (await backlog(path, input, newest, reader)).reverse();
  if (follow === undefined) return;
  for await (const line of following(path, reader, follow)) if (input.wanted(line)) yield line;
}

/**
 * Newest first, from the n-th file on; what a reader stands at the end of is read up to there.
 */
async function backlog(
  path: string,
  { limit, since, wanted }: LogsInput,
  newest: number,
  reader: Reader | undefined,
): Promise<LogLine[]> {
  const found: LogLine[] = [];
  let reached = reader === undefined;
  for (let n = newest; n < LOG_LIMITS.files; n++) {
    const stands = !reached && (await reader?.isAt(logFile(path, n))) === true;
    reached ||= stands;
    if (!reached) continue;
    for await (const raw of linesBackwards(
      logFile(path, n),
      stands ? reader?.position : undefined,
    )) {
      if (found.length >= limit) return found;
      const line = parseLogLine(raw);
      if (line === undefined) continue;
      if (since !== undefined && Date.parse(line.ts) < since.getTime()) return found;
      if (wanted(line)) found.push(line);
    }
  }
  return found;
}

/** The lines of a file, last one first, from its end or another place; none where there is no file. */
async function* linesBackwards(path: string, from?: number): AsyncGenerator<string> {
  const file = await openIfThere(path);
  if (file === undefined) return;
  try {
    let rest = Buffer.alloc(0);
    for (let end = from ?? (await file.stat()).size; end > 0;) {
      const start = Math.max(0, end - CHUNK);
      const chunk = Buffer.alloc(end - start);
      await file.read(chunk, 0, chunk.length, start);
      const bytes = Buffer.concat([chunk, rest]);
      const first = start === 0 ? 0 : bytes.indexOf(10) + 1;
      if (start > 0 && first === 0) {
        rest = bytes;
        end = start;
        continue;
      }
      const lines = bytes.subarray(first).toString('utf8').split('\n').reverse();
      for (const line of lines) if (line !== '') yield line;
      rest = bytes.subarray(0, first);
      end = start;
    }
  } finally {
    await file.close();
  }
}

/**
 * The file stays open while it is read, so that one that was renamed is read to its end; then those
 * that came after it, oldest first.
 */
async function* following(
  path: string,
  first: Reader | undefined,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  let reader = first;
  try {
    while (!signal.aborted) {
      // Asked before reading: nothing is written to a file after it was renamed.
      const renamed = reader !== undefined && !(await reader.isAt(path));
      if (reader !== undefined) yield* reader.lines();
      if (renamed) {
        const next = await after(path, reader);
        await reader?.close();
        reader = next;
        if (reader !== undefined) continue;
      }
      reader ??= await Reader.open(path, 'start');
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await reader?.close();
  }
}

/** The file that was begun when the one being read was put aside. */
async function after(path: string, reader: Reader | undefined): Promise<Reader | undefined> {
  for (let n = 1; n < LOG_LIMITS.files; n++) {
    if ((await reader?.isAt(logFile(path, n))) !== true) continue;
    const next = await Reader.open(logFile(path, n - 1), 'start');
    if ((await reader?.isAt(logFile(path, n))) === true) return next;
    // Everything moved on between the two.
    await next?.close();
  }
  // It went away altogether, and others may have come and gone since.
  return Reader.open(path, 'start');
}

/** A file that grows, read line by line. */
class Reader {
  readonly #file: FileHandle;
  /** What was read so far, in bytes. */
  position: number;
  #pending = '';
  #decoder = new StringDecoder('utf8');

  private constructor(file: FileHandle, position: number) {
    this.#file = file;
    this.position = position;
  }

  static async open(path: string, from: 'start' | 'end'): Promise<Reader | undefined> {
    const file = await openIfThere(path);
    return file && new Reader(file, from === 'start' ? 0 : (await file.stat()).size);
  }

  async isAt(path: string): Promise<boolean> {
    const ours = await this.#file.stat();
    const there = await stat(path).catch(() => undefined);
    return there?.ino === ours.ino && there.dev === ours.dev;
  }

  /** The lines that are whole by now and were not given yet. */
  async *lines(): AsyncGenerator<LogLine> {
    if ((await this.#file.stat()).size < this.position) this.#startOver();
    const chunk = Buffer.alloc(CHUNK);
    for (;;) {
      const { bytesRead } = await this.#file.read(chunk, 0, CHUNK, this.position);
      if (bytesRead === 0) return;
      this.position += bytesRead;
      const lines = (this.#pending + this.#decoder.write(chunk.subarray(0, bytesRead))).split('\n');
      this.#pending = lines.pop() ?? '';
      for (const raw of lines) {
        const line = parseLogLine(raw);
        if (line !== undefined) yield line;
      }
    }
  }

  /** Somebody emptied it. */
  #startOver(): void {
    this.position = 0;
    this.#pending = '';
    this.#decoder = new StringDecoder('utf8');
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
