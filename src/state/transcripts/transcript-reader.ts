import { open, stat, type FileHandle } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';
import { logFile } from '../rotating-log.ts';
import { isRelPath } from '../../protocol/layout.ts';
import { type UsageSum } from '../../protocol/usage.ts';
import { type RunEnding } from '../bills/ledger.ts';
import { isRecord } from '../files.ts';

/** Maximum bytes that are read of a file, which has fewer. */
const MAX_READ = 1024 * 1024;
const NEWLINE = 10;

/**
 * A reader of a transcript, also while it is written. The file stays open between two reads, so that the
 * rest of a file that was rotated or removed is read as well.
 */
export class TranscriptReader {
  readonly #path: string;
  #file: FileHandle | undefined;
  #position = 0;
  /** The start of an incomplete line. */
  #begun: Buffer = Buffer.alloc(0);
  #last = 0;
  head: TranscriptHead | undefined;

  /** @param after the number of the last line that is known */
  constructor(path: string, after = 0) {
    this.#path = path;
    this.#last = after;
  }

  /**
   * Reads the lines added since the last read; a gap line stands for missing ones.
   *
   * @throws Error if the file exists and cannot be read
   */
  async look(): Promise<TranscriptLine[]> {
    const found: TranscriptLine[] = [];
    const isMoved = this.#file !== undefined && !(await this.#isAt(this.#file));
    if (this.#file !== undefined) found.push(...(await this.#rest(this.#file)));
    if (this.#file !== undefined && !isMoved) return found;
    const next = await openIfThere(this.#path);
    if (next === undefined && this.#file !== undefined) return found;
    await this.close();
    const older = await openIfThere(logFile(this.#path, 1));
    if (older !== undefined) {
      found.push(...(await this.#rest(older)));
      await older.close();
    }
    this.#file = next;
    this.#position = 0;
    this.#begun = Buffer.alloc(0);
    if (next !== undefined) found.push(...(await this.#rest(next)));
    return found;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#position = 0;
    this.#begun = Buffer.alloc(0);
    await file?.close();
  }

  async #isAt(file: FileHandle): Promise<boolean> {
    const [ours, there] = await Promise.all([file.stat(), stat(this.#path).catch(() => undefined)]);
    return there?.ino === ours.ino && there.dev === ours.dev;
  }

  async #rest(file: FileHandle): Promise<TranscriptLine[]> {
    const chunk = Buffer.alloc(64 * 1024);
    const parts = [this.#begun];
    for (let read = 0; read < MAX_READ;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, this.#position);
      if (bytesRead === 0) break;
      read += bytesRead;
      this.#position += bytesRead;
      parts.push(Buffer.from(chunk.subarray(0, bytesRead)));
    }
    const bytes = Buffer.concat(parts);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    this.#begun = bytes.subarray(end);
    return bytes
      .subarray(0, end)
      .toString('utf8')
      .split('\n')
      .flatMap((text) => this.#take(text));
  }

  #take(text: string): TranscriptLine[] {
    const line = text === '' ? undefined : transcriptLine(text);
    if (line === undefined) return [];
    if (line.kind === 'run') {
      const { before, ...head } = line;
      const isFirst = this.head === undefined;
      this.head = head;
      return isFirst && before > 0 && this.#last === 0
        ? [{ n: 0, at: head.since, kind: 'gap', bytes: before }]
        : [];
    }
    const { n, at } = line;
    if (n <= this.#last) return [];
    const isMissing = n > this.#last + 1 && this.#last > 0;
    this.#last = n;
    return isMissing ? [{ n: n - 1, at, kind: 'gap' }, line] : [line];
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

/** The first line of a transcript, in each of its files. */
export interface TranscriptHead {
  kind: 'run';
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  /** Its id. */
  channel: string;
  tier: string;
  /** The relPaths of the messages that it answers, at most 100. */
  messages: string[];
  /** Start of the run, ISO 8601 UTC. */
  since: string;
}

/** An event of a run. Text in it is cleaned (`runner/printed.ts`). */
export type Happened =
  /**
   * Output of its command on stdout (`out`) and stderr (`err`), in pieces that need not end with a line;
   * or, when the CLI prints JSON, text of the model, and the reason of a failure.
   */
  | { kind: 'out' | 'err' | 'says' | 'fails'; text: string }
  /** A tool call with its arguments, in one line. */
  | { kind: 'tool'; text: string }
  /** The usage so far. */
  | { kind: 'used'; usage: UsageSum }
  /** The bytes left out here; undefined if their number is not known. */
  | { kind: 'gap'; bytes?: number }
  | { kind: 'end'; ended: RunEnding; reason?: string };

/** A line of a transcript. Stored and shown under these names. */
export type TranscriptLine = {
  /** The number of the line, from 1, so that a reader knows whether something is missing. */
  n: number;
  /** Time of the record, ISO 8601 UTC. */
  at: string;
} & Happened;

/** The first line of a file: `before` is the size of all earlier events, in bytes. */
type FileHead = TranscriptHead & { before: number };

const TEXT = new Set(['out', 'err', 'says', 'fails', 'tool']);

/** Parses a line of a file; undefined for one that a full disk or a crash has cut off. */
export function transcriptLine(text: string): FileHead | TranscriptLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { kind, n, at } = value;
  if (kind === 'run') return isHead(value) ? (value as unknown as FileHead) : undefined;
  if (typeof n !== 'number' || typeof at !== 'string' || typeof kind !== 'string') return undefined;
  const isWhole =
    (TEXT.has(kind) && typeof value['text'] === 'string') ||
    (kind === 'used' && isRecord(value['usage'])) ||
    kind === 'gap' ||
    (kind === 'end' && typeof value['ended'] === 'string');
  return isWhole ? (value as unknown as TranscriptLine) : undefined;
}

function isHead({ before, messages, ...value }: Record<string, unknown>): boolean {
  const texts = ['id', 'actor', 'host', 'channel', 'tier', 'since'];
  return (
    typeof before === 'number' &&
    texts.every((name) => typeof value[name] === 'string') &&
    Array.isArray(messages) &&
    messages.every((one) => typeof one === 'string' && isRelPath(one))
  );
}
