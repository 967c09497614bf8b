import { open, readdir, rm } from 'node:fs/promises';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { decodeTime } from 'ulid';
import { parseDuration } from '../../protocol/text/times.ts';
import { logFile, RotatingLog } from '../rotating-log.ts';
import {
  transcriptLine,
  type TranscriptHead,
  type Happened,
  TranscriptReader,
} from './transcript-reader.ts';
import { passed } from '../../crash-points.ts';

const FILE = /^([0-9A-HJKMNP-TV-Z]{26})\.jsonl(?:\.1)?$/;
const RUN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const KEPT_MS = 7 * 86_400_000;

/**
 * Returns the milliseconds for which transcripts are kept.
 *
 * @param configured `git config crosstalk.keepTranscripts`; ignored unless it is a duration
 */
export function keptFor(configured: string | undefined): number {
  return parseDuration(configured?.trim() ?? '') ?? KEPT_MS;
}

/** Whether a text can be the id of a run; any other text is never part of a path. */
export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

/**
 * The output of this machine's runs, a transcript for each. They belong to its user alone, and no part of
 * them is ever sent anywhere.
 */
export class Transcripts {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Starts a transcript; none is kept when the disk is full. This takes two system calls, and no turn of
   * the event loop, as a run waits for it.
   */
  begin(head: TranscriptHead): TranscriptFile {
    try {
      mkdirSync(this.#folder, { mode: 0o700 });
    } catch {
      // The folder exists, or nothing can be recorded.
    }
    return new TranscriptFile(this.#path(head.id), head);
  }

  /** Lists the ids of the runs with a transcript, oldest first. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const ids = names.flatMap((name) => FILE.exec(name)?.[1] ?? []);
    return [...new Set(ids)].sort();
  }

  /** @param after the number of the last line that is known */
  reader(id: string, after = 0): TranscriptReader {
    return new TranscriptReader(this.#path(id), after);
  }

  /** Reads the head of a transcript; undefined when it cannot be read, or is not written yet. */
  async head(id: string): Promise<TranscriptHead | undefined> {
    for (const n of [0, 1]) {
      const text = await beginningOf(logFile(this.#path(id), n)).catch(() => '');
      const line = transcriptLine(text.slice(0, text.indexOf('\n') + 1));
      if (line?.kind === 'run') return line;
    }
    return undefined;
  }

  /** Removes a transcript synchronously; if it cannot be removed now, a sweep removes it. */
  remove(id: string): void {
    for (const n of [0, 1]) {
      try {
        rmSync(logFile(this.#path(id), n), { force: true });
      } catch {
        // Its folder may be read-only.
      }
    }
  }

  /**
   * Removes the transcripts of runs that started before a time.
   *
   * @param isUnderWay whether a run is still active, so that its transcript is kept
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

/**
 * Returns the start of a run from its dispatch id, a ULID, which starts with the time; 0 for an id in
 * another form.
 */
function begunAt(id: string): number {
  try {
    return decodeTime(id);
  } catch {
    return 0;
  }
}

/** Maximum bytes up to the end of the first line of a file. */
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

/** Maximum bytes of one of the two files of a transcript: 256 KiB together. */
const MAX_FILE = 128 * 1024;
/** Maximum characters of text in one line; a longer text becomes several lines. */
const MAX_TEXT = 8 * 1024;
const MAX_MESSAGES = 100;
/** Pattern of the first of the two code units of a character. */
const HALF = /[\uD800-\uDBFF]$/;

/**
 * The transcript of an active run, as a file that others may read at the same time. When it is half full
 * it is rotated: it replaces the file before, and another is started. So the latest events are there at
 * any time, even if this process is killed, and a reader that keeps up misses nothing. Each file starts
 * with the head of the transcript.
 *
 * Nothing depends on it: a line that cannot be written is lost, and the next one tries again.
 */
export class TranscriptFile {
  readonly #open: () => RotatingLog | undefined;
  #log: RotatingLog | undefined;
  #n = 0;
  /** Bytes of all events so far, including those that were left out before they were written. */
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
        // The disk is full, or its folder is read-only: the transcript starts later, or never.
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
    // A character of two code units must not be split.
    const text = at + MAX_TEXT < one.text.length && HALF.test(most) ? most.slice(0, -1) : most;
    pieces.push({ ...one, text });
    at += text.length;
  }
  return pieces;
}

/** Returns the size of one event, which is reported as left out when its line is lost. */
function bytesOf(one: Happened, line: string): number {
  if (one.kind === 'gap') return one.bytes ?? 0;
  return Buffer.byteLength('text' in one ? one.text : line);
}
