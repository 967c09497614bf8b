import { isUtf8 } from 'node:buffer';
import { closeSync, createReadStream, fsyncSync, openSync, writeSync } from 'node:fs';
import { harmless } from './printed.ts';

/** Where stdout is kept while a CLI prints JSON. */
export interface RawTarget {
  /** A file of 0600, which must not exist. */
  path: string;
  /** How lines begin that are not kept. */
  noise?: string;
}

/** More output than this is no work of an agent CLI. */
const MAX_BYTES = 256 * 1024 * 1024;
/** So much is kept in memory as well, in case the disk does not take it. */
const MAX_KEPT = 4 * 1024 * 1024;
/** More text than this is no answer: it would not fit into a message. */
const MAX_PLAIN = 1024 * 1024;
/** A longer line is passed over. */
const MAX_LINE = 16 * 1024 * 1024;
const NEWLINE = 10;

/**
 * What a CLI printed, on disk before anything is made of it: so a dispatcher that dies leaves it to the
 * next start.
 */
export class RawOutput {
  readonly #target: RawTarget;
  readonly #fd: number | undefined;
  readonly #noise: Buffer;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** The beginning of a line of which it is not known yet whether it is noise. */
  #head: Buffer = Buffer.alloc(0);
  #within: 'head' | 'kept' | 'noise' = 'head';
  #failed = false;
  /** The bytes that came, noise included. */
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

  /** @returns whether so much has come that it is no work of an agent CLI */
  add(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.#noise.length === 0) this.#write(chunk);
    else for (let at = 0; at < chunk.length;) at = this.#sift(chunk, at);
    return this.bytes > MAX_BYTES;
  }

  /** Takes the rest of a line, or as much of it as is there; returns where to go on. */
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

  /** Called when nothing more comes. */
  close(): void {
    this.#write(this.#head);
    if (this.#fd === undefined) return;
    try {
      fsyncSync(this.#fd);
    } catch {
      // What a disk refuses now is still in memory, if there is not too much of it.
    }
    closeSync(this.#fd);
  }

  /**
   * The whole output, when it is plain text without one line of JSON: that of a wrapper, or of an older
   * version, that passes over the options by which a CLI prints JSON. Its words are the answer, as they
   * are without these options.
   */
  plainText(): string | undefined {
    if (this.#keptBytes > MAX_PLAIN) return undefined;
    const bytes = Buffer.concat(this.#kept);
    const text = bytes.toString('utf8');
    const isJson =
      text.includes('\0') || text.split('\n').some((line) => /^\s*[[{]/.test(harmless(line)));
    return isUtf8(bytes) && !isJson && text.trim() !== '' ? text : undefined;
  }

  /** Its lines without their ends; of what neither disk nor memory took there are none. */
  lines(): AsyncIterable<string> | Iterable<string> {
    if (this.#keptBytes <= MAX_KEPT) return Buffer.concat(this.#kept).toString('utf8').split('\n');
    return this.#failed ? [] : linesOfFile(this.#target.path);
  }
}

/** The lines of a file, without their ends; those of more than 16 MiB are left out. */
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
