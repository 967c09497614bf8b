import { passed } from '../../crash-points.ts';
import { RotatingLog } from '../rotating-log.ts';
import type { Happened, TranscriptHead } from './lines.ts';

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
  readonly #log: RotatingLog | undefined;
  #n = 0;
  /** The bytes of all that happened, also of what was left out before it was written. */
  #happened = 0;

  constructor(path: string, { messages, ...head }: TranscriptHead) {
    const named = { ...head, messages: messages.slice(0, MAX_MESSAGES) };
    try {
      this.#log = new RotatingLog(path, {
        size: MAX_FILE,
        files: 2,
        head: () => `${JSON.stringify({ ...named, before: this.#happened })}\n`,
      });
    } catch {
      // The disk is full, or its folder may not be written to: there is no transcript.
    }
  }

  add(at: Date, happened: readonly Happened[]): void {
    const stamp = at.toISOString();
    for (const one of happened.flatMap(inPieces)) {
      const line = `${JSON.stringify({ n: ++this.#n, at: stamp, ...one })}\n`;
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
