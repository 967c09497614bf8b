import { open, readdir, rm } from 'node:fs/promises';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { decodeTime } from 'ulid';
import { parseDuration } from '../../protocol/text/duration.ts';
import { logFile } from '../rotating-log.ts';
import { transcriptLine, type TranscriptHead } from './lines.ts';
import { TranscriptFile } from './transcript-file.ts';
import { TranscriptReader } from './transcript-reader.ts';

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
