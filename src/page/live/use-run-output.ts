import { useEffect, useState } from 'preact/hooks';
import type { WebRunLine, WebRunOutput } from '../../api/api.ts';
import { ApiError, get, wordsOf } from './api.ts';

/** Pieces of a run's output; those of one kind that follow each other are one. */
export interface Piece {
  /** The number of its first line. */
  n: number;
  kind: WebRunLine['kind'];
  text: string;
}

export interface RunOutput {
  pieces: readonly Piece[];
  /** Usage so far. */
  used: WebRunLine['usage'];
  /** Undefined until it was looked at first. */
  running: boolean | undefined;
  /** Line of its end. */
  end: WebRunLine | undefined;
  problem: string | undefined;
}

const NOTHING: RunOutput = {
  pieces: [],
  used: undefined,
  running: undefined,
  end: undefined,
  problem: undefined,
};
/** Milliseconds between two looks; a window that nobody sees does not look. */
const LOOK_MS = 700;
/** Most characters that are stored of one run's output. */
const MAX_KEPT = 256 * 1024;

/** Returns the output of a run, as it is printed. Nothing is requested any more once it has ended or nobody looks. */
export function useRunOutput(id: string): RunOutput {
  const [output, setOutput] = useState<RunOutput>(NOTHING);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const later = (): void => {
      timer = setTimeout(() => {
        if (document.hidden) later();
        else void look();
      }, LOOK_MS);
    };
    const look = async (): Promise<void> => {
      let isOver: boolean;
      try {
        const found = await get<WebRunOutput>(`runs/${id}/output`, { after: last }, stop.signal);
        ({ last } = found);
        isOver = !found.running;
        if (!stop.signal.aborted) setOutput((before) => withLines(before, found));
      } catch (error) {
        isOver = error instanceof ApiError && error.status >= 400 && error.status < 500;
        if (!stop.signal.aborted) setOutput((before) => ({ ...before, problem: wordsOf(error) }));
      }
      if (!isOver && !stop.signal.aborted) later();
    };
    setOutput(NOTHING);
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return output;
}

/** Adds new lines to the known output. A pure function. */
function withLines(before: RunOutput, { lines, running }: WebRunOutput): RunOutput {
  const pieces = [...before.pieces];
  let { used, end } = before;
  for (const line of lines) {
    const { n, kind, text = '' } = line;
    if (kind === 'used') used = line.usage;
    else if (kind === 'end') end = line;
    else if (kind === 'gap') pieces.push({ n, kind, text: String(line.bytes ?? '') });
    else {
      const open = pieces.at(-1);
      if (open?.kind === kind && (kind === 'out' || kind === 'err'))
        pieces[pieces.length - 1] = { ...open, text: open.text + text };
      else pieces.push({ n, kind, text });
    }
  }
  return { pieces: bounded(pieces), used, end, running, problem: undefined };
}

/** Returns the end of the output; the part before it is left out. */
function bounded(pieces: Piece[]): Piece[] {
  let size = pieces.reduce((sum, { text }) => sum + text.length, 0);
  if (size <= MAX_KEPT) return pieces;
  const kept = [...pieces];
  for (let [first] = kept; first !== undefined && size > MAX_KEPT; [first] = kept) {
    const cut = Math.min(size - MAX_KEPT, first.text.length);
    size -= cut;
    if (cut === first.text.length) kept.shift();
    else kept[0] = { ...first, text: first.text.slice(cut) };
  }
  return [{ n: -1, kind: 'gap', text: '' }, ...kept.filter(({ n }) => n !== -1)];
}
