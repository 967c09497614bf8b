import { isUtf8 } from 'node:buffer';
import { closeSync, createReadStream, fsyncSync, openSync, writeSync } from 'node:fs';
import { withoutSequences } from '../protocol/text/words.ts';
import { Escapes } from './escapes.ts';

/** The file for stdout of a CLI that prints JSON. */
export interface RawTarget {
  /** Path of a file with mode 0600, which must not exist. */
  path: string;
  /** Prefix of the lines that are discarded. */
  noise?: string;
}

/** Most bytes of output; an agent CLI prints less. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Most bytes that are kept in memory as well, in case the disk refuses them. */
const MAX_KEPT = 4 * 1024 * 1024;
/** Most bytes of plain text that are an answer: more would not fit into a message. */
const MAX_PLAIN = 1024 * 1024;
/** Longest line, in bytes; a longer one is skipped. */
const MAX_LINE = 16 * 1024 * 1024;
const NEWLINE = 10;

/** The output of a CLI, which is on disk before it is processed: if a dispatcher dies, the next start finds it. */
export class RawOutput {
  readonly #target: RawTarget;
  readonly #fd: number | undefined;
  readonly #noise: Buffer;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** The beginning of a line that is not yet known to be noise or not. */
  #head: Buffer = Buffer.alloc(0);
  #within: 'head' | 'kept' | 'noise' = 'head';
  #failed = false;
  /** Number of bytes received, noise included. */
  bytes = 0;

  constructor(target: RawTarget) {
    this.#target = target;
    this.#noise = Buffer.from(target.noise ?? '');
    try {
      this.#fd = openSync(target.path, 'wx', 0o600);
    } catch {
      this.#failed = true;
    }
  }

  /**
   * Adds output.
   *
   * @returns whether there is more of it than an agent CLI prints
   */
  add(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.#noise.length === 0) this.#write(chunk);
    else for (let at = 0; at < chunk.length;) at = this.#sift(chunk, at);
    return this.bytes > MAX_BYTES;
  }

  /** Takes the rest of a line, or as much of it as is there; returns the position after it. */
  #sift(chunk: Buffer, at: number): number {
    const newline = chunk.indexOf(NEWLINE, at);
    const end = newline < 0 ? chunk.length : newline + 1;
    if (this.#within === 'head') {
      this.#head = Buffer.concat([this.#head, chunk.subarray(at, end)]);
      if (this.#head.length < this.#noise.length && newline < 0) return end;
      const isNoise = this.#head.subarray(0, this.#noise.length).equals(this.#noise);
      this.#within = isNoise ? 'noise' : 'kept';
      if (!isNoise) this.#write(this.#head);
      this.#head = Buffer.alloc(0);
    } else if (this.#within === 'kept') this.#write(chunk.subarray(at, end));
    if (newline >= 0) this.#within = 'head';
    return end;
  }

  #write(chunk: Buffer): void {
    this.#keptBytes += chunk.length;
    if (this.#keptBytes <= MAX_KEPT) this.#kept.push(chunk);
    else if (!this.#failed) this.#kept = [];
    if (this.#fd === undefined || this.#failed) return;
    try {
      for (let at = 0; at < chunk.length;) at += writeSync(this.#fd, chunk, at);
    } catch {
      this.#failed = true;
    }
  }

  /** Ends the output and makes it durable. */
  close(): void {
    this.#write(this.#head);
    if (this.#fd === undefined) return;
    try {
      fsyncSync(this.#fd);
    } catch {
      // Bytes that the disk refuses now are still in memory, unless there are too many.
    }
    closeSync(this.#fd);
  }

  /**
   * Returns the whole output if it is plain text without one line of JSON: the output of a wrapper, or of an
   * older version, that ignores the options by which a CLI prints JSON. The text is the answer, as it is
   * without these options.
   */
  plainText(): string | undefined {
    if (this.#keptBytes > MAX_PLAIN) return undefined;
    const bytes = Buffer.concat(this.#kept);
    const text = bytes.toString('utf8');
    const isJson =
      text.includes('\0') || text.split('\n').some((line) => /^\s*[[{]/.test(harmless(line)));
    return isUtf8(bytes) && !isJson && text.trim() !== '' ? text : undefined;
  }

  /** Returns the lines without their ends; none if neither disk nor memory could hold them. */
  lines(): AsyncIterable<string> | Iterable<string> {
    if (this.#keptBytes <= MAX_KEPT) return Buffer.concat(this.#kept).toString('utf8').split('\n');
    return this.#failed ? [] : linesOfFile(this.#target.path);
  }
}

/** Reads the lines of a file, without their ends; lines of more than 16 MiB are left out. */
export async function* linesOfFile(path: string): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    const data = chunk as Buffer;
    let at = 0;
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, at)) {
      if (bytes + end - at <= MAX_LINE)
        yield Buffer.concat([...parts, data.subarray(at, end)]).toString('utf8');
      [parts, bytes, at] = [[], 0, end + 1];
    }
    bytes += data.length - at;
    if (bytes <= MAX_LINE) parts.push(data.subarray(at));
    else parts = [];
  }
  if (bytes > 0 && bytes <= MAX_LINE) yield Buffer.concat(parts).toString('utf8');
}

/** Most bytes of an incomplete control sequence that are held back; anything longer is not a sequence. */
const MAX_HELD = 4096;
const CR = 13;

/**
 * A converter of a program's output, piece by piece, into text that can neither steer a terminal nor hide a
 * part of itself: a control sequence or a character that is cut by the end of a piece waits for the next one.
 */
export class Printed {
  #escapes = new Escapes();
  #held: Buffer = Buffer.alloc(0);

  /**
   * Adds output.
   *
   * @returns the text that is complete so far
   */
  take(bytes: Uint8Array): string {
    const safe = this.#escapes.feed(bytes);
    const all = Buffer.concat([this.#held, bytes]);
    let end = safe === undefined ? 0 : this.#held.length + safe;
    if (all.length - end > MAX_HELD) {
      this.#escapes = new Escapes();
      end = all.length;
    }
    // It may be the first half of a CRLF.
    if (all[end - 1] === CR) end--;
    this.#held = Buffer.from(all.subarray(end));
    return harmless(all.subarray(0, end).toString('utf8'));
  }

  /**
   * Ends the output.
   *
   * @returns the rest of the text
   */
  end(): string {
    const rest = harmless(this.#held.toString('utf8'));
    this.forget();
    return rest;
  }

  /** Discards the incomplete rest, because a part of the output after it is left out. */
  forget(): void {
    this.#held = Buffer.alloc(0);
    this.#escapes = new Escapes();
  }
}

/**
 * Returns text without control sequences and characters that reorder letters. A carriage return, with which a
 * program overwrites its line, starts a new line, so that the earlier text remains readable.
 */
export function harmless(text: string): string {
  return withoutSequences(text.replace(/\r\n?/g, '\n'));
}
