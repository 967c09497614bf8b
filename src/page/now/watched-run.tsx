import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { WebRun } from '../../api/api.ts';
import { useRunOutput, type Piece, type RunOutput } from '../live/use-run-output.ts';
import { Problem } from '../parts/view.tsx';
import { Card } from './card.tsx';
import { momentOf } from '../../present/times.ts';
import { CUT_OFF, endedWords, leftOut, usedWords } from '../../present/runs.ts';

/** Pixels from the end within which new lines are followed. */
const NEAR_END = 40;

/** Output of a run of this machine, as it is printed; nothing is requested once this is closed. */
export function WatchedRun({ run, close }: { run: WebRun; close: () => void }): JSX.Element {
  const output = useRunOutput(run.id);
  const log = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    log.current?.focus();
  }, []);
  useLayoutEffect(() => {
    const element = log.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [output.pieces]);
  return (
    <Card
      title={`What ${run.actor} prints`}
      class="watched"
      beside={
        <button type="button" onClick={close} aria-label={`Close what ${run.actor} prints`}>
          Close
        </button>
      }
    >
      <p class="dim">
        Since {momentOf(run.since)}, on this machine alone: nothing of it goes to the bus.
      </p>
      <Problem words={output.problem} />
      <div
        class="printed"
        ref={log}
        // A log that is read aloud as it grows would never end.
        role="log"
        aria-live="off"
        aria-label={`Output of ${run.actor}`}
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
        }}
      >
        {output.pieces.map((piece) => (
          <Printed key={piece.n} piece={piece} />
        ))}
      </div>
      <p class="dim" role="status">
        {stateOf(output)}
      </p>
      {output.used !== undefined && <p class="dim">Tokens {usedWords(output.used)}.</p>}
    </Card>
  );
}

function Printed({ piece: { kind, text } }: { piece: Piece }): JSX.Element {
  switch (kind) {
    case 'gap':
      return <p class="dim">{leftOut(text === '' ? undefined : Number(text))}</p>;
    case 'tool':
      return (
        <p class="tool">
          <span aria-hidden="true">→ </span>
          <bdi>{text}</bdi>
        </p>
      );
    case 'err':
    case 'fails':
      return (
        <div class="stderr">
          <span class="dim">{kind === 'err' ? 'stderr' : 'failed'}</span>
          <pre>{text}</pre>
        </div>
      );
    default:
      return <pre>{text}</pre>;
  }
}

function stateOf({ running, end, pieces }: RunOutput): string {
  if (end !== undefined) return `It has ended, ${endedWords(end)}.`;
  if (running === undefined) return 'Loading…';
  if (!running) return `It was ${CUT_OFF}.`;
  return pieces.length === 0 ? 'It runs, and has printed nothing yet.' : 'It runs.';
}
