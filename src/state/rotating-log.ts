import { closeSync, fstatSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs';

export interface RotationLimits {
  /** Bytes after which a new file is started. */
  size: number;
  /** Maximum number of files, including the newest. */
  files: number;
  /** The first line of each file. */
  head?: () => string;
}

export const LOG_LIMITS: RotationLimits = { size: 10 * 1024 * 1024, files: 5 };

/** Returns the n-th file of a log; 0 is the one that is written to. */
export function logFile(path: string, n: number): string {
  return n === 0 ? path : `${path}.${String(n)}`;
}

/**
 * A log file that is appended to, and replaced by a new one when it is full: `log` becomes `log.1`, that
 * becomes `log.2`, and the oldest is removed. Only one process may write to it.
 *
 * Nothing depends on a log: a line that cannot be written is lost, and the next one tries again.
 */
export class RotatingLog {
  readonly #path: string;
  readonly #limits: RotationLimits;
  #file: number | undefined;
  #size = 0;
  /** Whether the file rotates: a terminal, a pipe or a device has no meaningful size. */
  #rotates = false;
  /** Whether a line was written only in part: then the next one starts a new line. */
  #torn = false;

  /** @throws Error when the file cannot be opened */
  constructor(path: string, limits: RotationLimits = LOG_LIMITS) {
    this.#path = path;
    this.#limits = limits;
    this.#open();
  }

  /** @param line with its line feed */
  write(line: string): void {
    const bytes = Buffer.from(this.#torn ? `\n${line}` : line);
    try {
      if (this.#file === undefined) this.#open();
      if (this.#rotates && this.#size > 0 && this.#size + bytes.length > this.#limits.size)
        this.#rotate();
      if (this.#file === undefined) return;
      const written = writeSync(this.#file, bytes);
      this.#size += written;
      this.#torn = written < bytes.length;
    } catch {
      // The disk is full, or the folder was removed.
      this.close();
    }
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    try {
      if (file !== undefined) closeSync(file);
    } catch {
      // Data that could not be written is lost.
    }
  }

  #open(): void {
    this.#file = openSync(this.#path, 'a', 0o600);
    const found = fstatSync(this.#file);
    this.#size = found.size;
    this.#rotates = found.isFile();
    const head = this.#size === 0 ? this.#limits.head?.() : undefined;
    if (head !== undefined) this.#begin(this.#file, Buffer.from(head));
  }

  /** Writes the head, all or nothing: without all of it, nobody could read the file. */
  #begin(file: number, head: Buffer): void {
    try {
      this.#size = writeSync(file, head);
      if (this.#size === head.length) return;
      ftruncateSync(file);
      throw new Error('the disk is full');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #rotate(): void {
    this.close();
    for (let n = this.#limits.files - 2; n >= 0; n--) {
      try {
        renameSync(logFile(this.#path, n), logFile(this.#path, n + 1));
      } catch {
        // There are fewer files so far.
      }
    }
    this.#open();
  }
}
