import { open, stat, type FileHandle } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../errors.ts';
import { LOG_LIMITS, logFile } from '../../state/rotating-log.ts';

export { RotatingLog } from '../../state/rotating-log.ts';

/** One event of the dispatcher's log. */
export interface LogLine {
  /** As ISO 8601 in UTC. */
  ts: string;
  level: string;
  event: string;
  fields: Readonly<Record<string, unknown>>;
  /** The line as it is in the file. */
  raw: string;
}

export interface LogsInput {
  /** Most lines; the newest are returned. */
  limit: number;
  since?: Date;
  /** Selects the wanted lines. */
  wanted: (line: LogLine) => boolean;
}

const CHUNK = 256 * 1024;
/** Milliseconds after which a new line is seen. */
const LOOK_MS = 200;

/** Parses a line of the log; undefined for a line that is not an event, such as one that a full disk cut off. */
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
 * Yields the newest lines of a log and its rotated files, oldest first; with `follow`, also lines written from then
 * on until that is aborted, even when the log is rotated meanwhile. The cost grows with the lines read, not with the
 * length of the log.
 */
export async function* logs(
  path: string,
  input: LogsInput,
  follow?: AbortSignal,
): AsyncGenerator<LogLine> {
  const reader = follow && (await Reader.open(path, 'end'));
  // A log that does not exist yet is followed from its beginning.
  const newest = follow !== undefined && reader === undefined ? 1 : 0;
  yield* (await backlog(path, input, newest, reader)).reverse();
  if (follow === undefined) return;
  for await (const line of following(path, reader, follow)) if (input.wanted(line)) yield line;
}

/**
 * Reads newest first, from the n-th file on; a file that a reader has open is read up to the
 * reader's position.
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

/** Yields the lines of a file, last one first, from its end or another position; nothing if there is no file. */
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
 * Yields the lines written from now on. The file stays open while it is read, so that a renamed file is read to its
 * end; then the files that came after it are read, oldest first.
 */
async function* following(
  path: string,
  first: Reader | undefined,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  let reader = first;
  try {
    while (!signal.aborted) {
      // This is checked before reading, because nothing is written to a file after it was renamed.
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

/** Returns the file that was started when the current one was rotated. */
async function after(path: string, reader: Reader | undefined): Promise<Reader | undefined> {
  for (let n = 1; n < LOG_LIMITS.files; n++) {
    if ((await reader?.isAt(logFile(path, n))) !== true) continue;
    const next = await Reader.open(logFile(path, n - 1), 'start');
    if ((await reader?.isAt(logFile(path, n))) === true) return next;
    // The files were rotated between the two checks.
    await next?.close();
  }
  // The file was deleted, and others may have come and gone since.
  return Reader.open(path, 'start');
}

/** A file that grows, read line by line. */
class Reader {
  readonly #file: FileHandle;
  /** The number of bytes that were read. */
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

  /** The complete lines that were not returned yet. */
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

  /** Called when the file was emptied. */
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
