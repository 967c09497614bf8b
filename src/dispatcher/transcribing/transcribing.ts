import { passed } from '../../crash-points.ts';
import { rendererOf } from '../../agents/transcript/renderers.ts';
import type { RunEnding } from '../../state/bills/ledger.ts';
import type { TranscriptHead, Happened } from '../../state/transcripts/transcript-reader.ts';
import type { Transcripts, TranscriptFile } from '../../state/transcripts/transcripts.ts';
import type { Renderer } from '../../agents/transcript/event.ts';
import { harmless, Printed } from '../../runner/raw-output.ts';

/** Writes transcripts of the runs under way. */
export class Transcribing {
  readonly #transcripts: Transcripts;
  readonly #keep: () => number;
  readonly #now: () => Date;
  readonly #under = new Map<string, Teller>();

  /** @param keep milliseconds for which a transcript is stored */
  constructor(transcripts: Transcripts, keep: () => number, now: () => Date) {
    this.#transcripts = transcripts;
    this.#keep = keep;
    this.#now = now;
  }

  /**
   * Starts the transcript of a run.
   *
   * @param agent the known agent CLI that prints JSON
   */
  begin(head: Omit<TranscriptHead, 'kind'>, agent: string | undefined): void {
    // It started anew, as its session was gone.
    if (this.#under.has(head.id)) return;
    const file = this.#transcripts.begin({ kind: 'run', ...head });
    passed('transcript_begun');
    const narrator = agent === undefined ? undefined : rendererOf(agent);
    this.#under.set(head.id, new Teller(file, narrator, this.#now));
  }

  /** Takes a piece of a run's output. */
  hear(id: string, stream: 'out' | 'err', bytes: Buffer): void {
    this.#under.get(id)?.hear(stream, bytes);
  }

  /** Takes down something that a run does, which it does not print. */
  tell(id: string, text: string): void {
    this.#under.get(id)?.tell(text);
  }

  /** Ends the transcript of a run; of one that never started nothing is known. */
  end(id: string, ended: RunEnding, reason?: string): void {
    const teller = this.#under.get(id);
    if (teller === undefined) return;
    this.#under.delete(id);
    teller.end({ kind: 'end', ended, ...(reason !== undefined && { reason }) });
    if (this.#keep() === 0) this.#transcripts.remove(id);
  }

  /** Removes transcripts that are older than their time. */
  async sweep(): Promise<void> {
    const edge = new Date(this.#now().getTime() - this.#keep());
    await this.#transcripts.removeBefore(edge, (id) => this.#under.has(id));
  }
}

/** Most bytes that wait to be written; of faster output, the end is stored. */
const ROOM = 256 * 1024;
/** Milliseconds between two times at which it is taken down. */
const PACE_MS = 100;
const NEWLINE = 10;

type Stream = 'out' | 'err';

/**
 * Writes the transcript of one run. While the run goes on this only collects the pieces, at most 256 KiB of them; ten
 * times a second at most they are cleaned, rendered and written. So a flood costs little, and slow output is there at
 * once.
 */
class Teller {
  readonly #file: TranscriptFile;
  readonly #narrator: Renderer | undefined;
  readonly #now: () => Date;
  readonly #streams: Record<Stream, Telling>;
  #waiting: { stream: Stream; bytes: Buffer }[] = [];
  #size = 0;
  #lost = { out: 0, err: 0 };
  #timer: NodeJS.Timeout | undefined;
  #lastAt = -PACE_MS;

  /** @param narrator renders stdout, if that is JSON */
  constructor(file: TranscriptFile, narrator: Renderer | undefined, now: () => Date) {
    this.#file = file;
    this.#narrator = narrator;
    this.#now = now;
    this.#streams = {
      out: narrator === undefined ? new Plain('out') : new Narrated(narrator),
      err: new Plain('err'),
    };
  }

  /** Takes a piece of the output. Never throws, and does nothing that takes time. */
  readonly hear = (stream: Stream, bytes: Buffer): void => {
    this.#waiting.push({ stream, bytes });
    this.#size += bytes.length;
    while (this.#size > ROOM) {
      const [first] = this.#waiting;
      if (first === undefined) break;
      // A single piece may be larger; of each, the end is stored.
      const cut = Math.min(this.#size - ROOM, first.bytes.length);
      first.bytes = first.bytes.subarray(cut);
      if (first.bytes.length === 0) this.#waiting.shift();
      this.#size -= cut;
      this.#lost[first.stream] += cut;
    }
    const wait = Math.max(0, this.#lastAt + PACE_MS - performance.now());
    this.#timer ??= setTimeout(this.#takeDown, wait);
  };

  /** Writes at once an action of a run, in one line; earlier output comes first. */
  tell(text: string): void {
    clearTimeout(this.#timer);
    this.#takeDown();
    try {
      this.#file.add(this.#now(), [{ kind: 'tool', text: harmless(text) }]);
    } catch {
      // Nothing depends on a transcript.
    }
  }

  /** Writes the remaining output, and the ending. */
  end(ending: Happened & { kind: 'end' }): void {
    clearTimeout(this.#timer);
    this.#takeDown();
    try {
      const rest = [...this.#streams.out.end(), ...this.#streams.err.end()];
      this.#file.add(this.#now(), [...rest, ...(this.#narrator?.end().map(cleaned) ?? []), ending]);
    } catch {
      // Nothing depends on a transcript.
    }
    this.#file.close();
  }

  readonly #takeDown = (): void => {
    this.#timer = undefined;
    this.#lastAt = performance.now();
    const pieces = this.#waiting;
    const lost = this.#lost;
    [this.#waiting, this.#size, this.#lost] = [[], 0, { out: 0, err: 0 }];
    try {
      const found: Happened[] = [];
      for (const stream of ['out', 'err'] as const) {
        if (lost[stream] === 0) continue;
        found.push(...this.#streams[stream].skip(), { kind: 'gap', bytes: lost[stream] });
      }
      for (const { stream, bytes } of joined(pieces))
        found.push(...this.#streams[stream].take(bytes));
      if (found.length > 0) this.#file.add(this.#now(), found);
    } catch {
      // Nothing depends on a transcript.
    }
  };
}

/** Pieces of the same stream that follow each other, as one. */
function joined(pieces: readonly { stream: Stream; bytes: Buffer }[]): typeof pieces {
  const groups: { stream: Stream; parts: Buffer[] }[] = [];
  for (const { stream, bytes } of pieces) {
    const last = groups.at(-1);
    if (last?.stream === stream) last.parts.push(bytes);
    else groups.push({ stream, parts: [bytes] });
  }
  return groups.map(({ stream, parts }) => ({ stream, bytes: Buffer.concat(parts) }));
}

/** Renders one stream as events. */
interface Telling {
  take: (bytes: Buffer) => Happened[];
  /** Called when a part is left out. */
  skip: () => Happened[];
  end: () => Happened[];
}

class Plain implements Telling {
  readonly #kind: Stream;
  readonly #printed = new Printed();

  constructor(kind: Stream) {
    this.#kind = kind;
  }

  take(bytes: Buffer): Happened[] {
    return this.#said(this.#printed.take(bytes));
  }

  skip(): Happened[] {
    return this.end();
  }

  end(): Happened[] {
    return this.#said(this.#printed.end());
  }

  #said(text: string): Happened[] {
    return text === '' ? [] : [{ kind: this.#kind, text }];
  }
}

/** Lines of JSON; a line that is not JSON is rendered as it is. */
class Narrated implements Telling {
  readonly #narrator: Renderer;
  #parts: Buffer[] = [];
  #size = 0;
  /** The size of a line that is too long, or whose beginning was left out. */
  #passed: number | undefined;

  constructor(narrator: Renderer) {
    this.#narrator = narrator;
  }

  take(bytes: Buffer): Happened[] {
    const found: Happened[] = [];
    for (let at = 0; at < bytes.length;) {
      const newline = bytes.indexOf(NEWLINE, at);
      const end = newline < 0 ? bytes.length : newline;
      this.#add(bytes.subarray(at, end));
      if (newline >= 0) found.push(...this.#line());
      at = end + 1;
    }
    return found;
  }

  skip(): Happened[] {
    this.#pass(this.#size);
    return [];
  }

  end(): Happened[] {
    return this.#size > 0 || this.#passed !== undefined ? this.#line() : [];
  }

  #add(part: Buffer): void {
    if (this.#passed !== undefined) this.#passed += part.length;
    else if (this.#size + part.length > ROOM) this.#pass(this.#size + part.length);
    else {
      this.#parts.push(part);
      this.#size += part.length;
    }
  }

  #pass(size: number): void {
    this.#passed = (this.#passed ?? 0) + size;
    [this.#parts, this.#size] = [[], 0];
  }

  #line(): Happened[] {
    const text = Buffer.concat(this.#parts).toString('utf8');
    const passed = this.#passed;
    [this.#parts, this.#size, this.#passed] = [[], 0, undefined];
    if (passed !== undefined) return passed > 0 ? [{ kind: 'gap', bytes: passed }] : [];
    const told = this.#narrator.line(text);
    if (told !== undefined) return told.map(cleaned);
    return [{ kind: 'out', text: `${harmless(text)}\n` }];
  }
}

function cleaned<T extends Happened>(one: T): T {
  return 'text' in one ? { ...one, text: harmless(one.text) } : one;
}
