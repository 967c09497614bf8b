import { open, readdir, rm } from 'node:fs/promises';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { decodeTime } from 'ulid';
import { parseDuration } from '../../protocol/text/times.ts';
import { logFile, RotatingLog } from '../rotating-log.ts';
import { transcriptLine, type TranscriptHead, type Happened } from './lines.ts';
import { TranscriptReader } from './transcript-reader.ts';
import { passed } from '../../crash-points.ts';

const FILE = /^([0-9A-HJKMNP-TV-Z]{26})\.jsonl(?:\.1)?$/;
const RUN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const KEPT_MS = 7 * 86_400_000;

/**
 * How long transcripts are kept, in milliseconds.
 *
 * @param configured `git config crosstalk.keepTranscripts`; ignored unless it is a duration
 */
export function keptFor(configured: string | undefined): number {
  return parseDuration(configured?.trim() ?? '') ?? KEPT_MS;
}

/** Whether a text can be the id of a run; anything else is never part of a path. */
export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

/**
 * What the runs of this machine printed, a transcript for each. They belong to its user alone, and
 * nothing of them is ever sent anywhere.
 */
export class Transcripts {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Begins a transcript; where the disk does not take it, there is none. It takes two calls of the system,
   * and no turn of the loop: a run waits for this.
   */
  begin(head: TranscriptHead): TranscriptFile {
    try {
      mkdirSync(this.#folder, { mode: 0o700 });
    } catch {
      // It is there, or nothing can be taken down.
    }
    return new TranscriptFile(this.#path(head.id), head);
  }

  /** The ids of the runs of which there is a transcript, oldest first. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const ids = names.flatMap((name) => FILE.exec(name)?.[1] ?? []);
    return [...new Set(ids)].sort();
  }

  /** @param after the number of the last line that is known */
  reader(id: string, after = 0): TranscriptReader {
    return new TranscriptReader(this.#path(id), after);
  }

  /** How a transcript begins; undefined where it cannot be read, or is not written yet. */
  async head(id: string): Promise<TranscriptHead | undefined> {
    for (const n of [0, 1]) {
      const text = await beginningOf(logFile(this.#path(id), n)).catch(() => '');
      const line = transcriptLine(text.slice(0, text.indexOf('\n') + 1));
      if (line?.kind === 'run') return line;
    }
    return undefined;
  }

  /** Removes a transcript at once; what cannot be removed now is removed by a sweep. */
  remove(id: string): void {
    for (const n of [0, 1]) {
      try {
        rmSync(logFile(this.#path(id), n), { force: true });
      } catch {
        // Its folder may not be written to.
      }
    }
  }

  /**
   * Removes the transcripts of runs that began before a time.
   *
   * @param isUnderWay keeps that of a run which is not over
   */
  async removeBefore(edge: Date, isUnderWay: (id: string) => boolean): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const id = FILE.exec(name)?.[1];
      if (id === undefined || begunAt(id) >= edge.getTime() || isUnderWay(id)) continue;
      await rm(join(this.#folder, name), { force: true });
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.jsonl`);
  }
}

/** A dispatch id is a ULID, which begins with the time; one of another age is of none. */
function begunAt(id: string): number {
  try {
    return decodeTime(id);
  } catch {
    return 0;
  }
}

/** Bytes in which the first line of a file ends. */
const MAX_HEAD = 16 * 1024;

async function beginningOf(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEAD), 0, MAX_HEAD, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await file.close();
  }
}

/** Bytes of one of the two files of a transcript: 256 KiB together. */
const MAX_FILE = 128 * 1024;
/** Characters of text in one line; a longer text becomes several lines. */
const MAX_TEXT = 8 * 1024;
const MAX_MESSAGES = 100;
/** The first of the two code units of a character. */
const HALF = /[\uD800-\uDBFF]$/;

/**
 * The transcript of a run that is under way, as a file that others may read at the same time. When it
 * is half full it is put aside, in the place of the one before, and another is begun: so the end of what
 * happened is there at any time, whenever this process is killed, and a reader misses nothing that it
 * reads in time. Each file begins with the head of the transcript.
 *
 * Nothing depends on it: what the disk does not take is lost, and the next line tries again.
 */
export class TranscriptFile {
  readonly #open: () => RotatingLog | undefined;
  #log: RotatingLog | undefined;
  #n = 0;
  /** The bytes of all that happened, also of what was left out before it was written. */
  #happened = 0;

  constructor(path: string, { messages, ...head }: TranscriptHead) {
    const named = { ...head, messages: messages.slice(0, MAX_MESSAGES) };
    this.#open = () => {
      try {
        return new RotatingLog(path, {
          size: MAX_FILE,
          files: 2,
          head: () => `${JSON.stringify({ ...named, before: this.#happened })}\n`,
        });
      } catch {
        // The disk is full, or its folder may not be written to: the transcript begins later, or never.
        return undefined;
      }
    };
    this.#log = this.#open();
  }

  add(at: Date, happened: readonly Happened[]): void {
    const stamp = at.toISOString();
    for (const one of happened.flatMap(inPieces)) {
      const line = `${JSON.stringify({ n: ++this.#n, at: stamp, ...one })}\n`;
      this.#log ??= this.#open();
      this.#log?.write(line);
      this.#happened += bytesOf(one, line);
      passed('transcript_written');
    }
  }

  close(): void {
    this.#log?.close();
  }
}

function inPieces(one: Happened): Happened[] {
  if (!('text' in one) || one.text.length <= MAX_TEXT) return [one];
  const pieces: Happened[] = [];
  for (let at = 0; at < one.text.length;) {
    const most = one.text.slice(at, at + MAX_TEXT);
    // A character of two code units stays whole.
    const text = at + MAX_TEXT < one.text.length && HALF.test(most) ? most.slice(0, -1) : most;
    pieces.push({ ...one, text });
    at += text.length;
  }
  return pieces;
}

/** How much one thing is that happened: when its line is gone, so much is said to be left out. */
function bytesOf(one: Happened, line: string): number {
  if (one.kind === 'gap') return one.bytes ?? 0;
  return Buffer.byteLength('text' in one ? one.text : line);
}
