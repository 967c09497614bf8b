import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { reasonInWords } from '../../protocol/text/words.ts';
import { parkedWords } from '../../present/holds.ts';
import { ageOf, localTimes, momentOf, secondsSince, wholeTimeOf } from '../../present/times.ts';
import { ReplyBox } from '../compose/reply-box.tsx';
import { RetryButton } from '../compose/retry-button.tsx';
import { ProposalCard } from '../conversation/proposal.tsx';
import { useClock, useModel } from '../live/use-live.ts';
import { Verified } from '../parts/speaker.tsx';
import { Link } from '../route/link.tsx';
import { plainOf } from '../text/plain.ts';
import type { Row, ShownRow } from './rows.ts';

interface Props {
  row: ShownRow;
  /** Whether it is the first of its thread, which names that. */
  isFirst: boolean;
  onDone: () => void;
  onFocus: () => void;
}

/** A row of the inbox: what it is about, from whom, and everything that can be done about it. */
export function RowItem({ row, isFirst, onDone, onFocus }: Props): JSX.Element {
  const { session } = useModel();
  const { item, letter, filter, isOver } = row;
  const { sign, tone, word } = kindOf(row);
  const mayWrite = session?.read_only === false;
  const element = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    // What had the focus cannot have it any more.
    if (isOver && element.current?.contains(document.activeElement) === true)
      element.current.focus({ preventScroll: true });
  }, [isOver]);
  return (
    <article
      ref={element}
      class={`row ${isOver ? 'over' : `is-${filter}`}`}
      tabIndex={-1}
      aria-label={word}
      onFocusCapture={onFocus}
    >
      {isFirst && item?.question && (
        <p class="about dim">
          <Link to={{ view: 'thread', ...placeOf(item.question) }}>
            <bdi>{item.question.from}</bdi>: {plainOf(item.question.excerpt)}
          </Link>
        </p>
      )}
      <p class="title">
        <span class={`chip ${isOver ? 'good' : tone}`}>
          <span aria-hidden="true">{isOver ? '✓' : sign}</span> {isOver ? 'done' : word}
        </span>{' '}
        <Title row={row} />
      </p>
      <p class="dim">
        <Where row={row} />
      </p>
      {letter !== undefined && letter.detail !== '' && <pre>{letter.detail.slice(0, 600)}</pre>}
      {item?.proposal === true && item.waits_for_you && (
        <div inert={isOver}>
          <Decision {...placeOf(item)} />
        </div>
      )}
      {mayWrite && (
        <div class="todo" inert={isOver}>
          {letter !== undefined && session.may_operate && <RetryButton letter={letter} />}
          {item !== undefined && !item.proposal && (
            <ReplyBox {...placeOf(item)} from={item.from} options={item.options} />
          )}
          {item?.waits_for_you === false && (
            <button type="button" data-act="done" onClick={onDone}>
              Done
            </button>
          )}
        </div>
      )}
    </article>
  );
}

function placeOf({ channel, relPath }: { channel: string; relPath: string }) {
  return { channel, relPath };
}

/** Returns the sign, the weight and the word of a row. */
function kindOf({ item, limit }: Row): { sign: string; tone: string; word: string } {
  if (limit !== undefined) return { sign: '⊘', tone: 'wait', word: 'needs you' };
  if (item === undefined) return { sign: '✕', tone: 'bad', word: 'failed' };
  if (item.failed !== null)
    return { sign: '✕', tone: 'bad', word: item.failed === 'cancelled' ? item.failed : 'failed' };
  if (!item.waits_for_you) return { sign: '↩', tone: 'dim', word: 'for you' };
  if (item.tool !== null) return { sign: '!', tone: 'wait', word: 'asks for permission' };
  return { sign: '?', tone: 'wait', word: item.proposal ? 'plan' : 'asks you' };
}

function Title({ row: { item, letter, limit } }: { row: Row }): JSX.Element {
  if (item !== undefined) {
    const text = item.excerpt === '' ? 'empty message' : plainOf(item.excerpt);
    const failed = item.failed === null ? '' : `no answer: ${reasonInWords(item.failed)}`;
    return (
      <Link to={{ view: 'message', ...placeOf(item) }}>
        <bdi>{failed || (item.tool === null ? text : `to use ${escapeInvisible(item.tool)}`)}</bdi>
      </Link>
    );
  }
  if (limit !== undefined)
    return <span>{localTimes(parkedWords(limit), (time) => momentOf(time))}</span>;
  const [relPath] = letter?.messages ?? [];
  const words = reasonInWords(letter?.reason ?? '');
  return letter === undefined || relPath === undefined ? (
    <span>{words}</span>
  ) : (
    <Link to={{ view: 'thread', channel: letter.channel, relPath }}>{words}</Link>
  );
}

/** From whom it is, where it stands, and since when. */
function Where({ row: { item, letter, limit, at } }: { row: Row }): JSX.Element {
  const now = useClock(30_000);
  if (limit !== undefined)
    return (
      <>
        <bdi>{limit.actor}</bdi>, tier {limit.tier}
      </>
    );
  return (
    <>
      from <bdi class="who">{item?.from ?? letter?.actor}</bdi>
      <Verified verified={item?.verified} /> in{' '}
      <bdi>{item?.channel_name ?? letter?.channel_name}</bdi>,{' '}
      <time dateTime={at} title={wholeTimeOf(at)}>
        {ageOf(secondsSince(at, now))} ago, {momentOf(at, now)}
      </time>
    </>
  );
}

/** The decision on a proposal, which is shown whole before it can be made. */
function Decision(place: { channel: string; relPath: string }): JSX.Element {
  const [open, setOpen] = useState<'approve' | 'deny' | undefined>(undefined);
  if (open !== undefined) return <ProposalCard at={place} inList focus={open} />;
  return (
    <p class="choices">
      {(['approve', 'deny'] as const).map((decision) => (
        <button
          key={decision}
          type="button"
          data-act={decision}
          onClick={() => {
            setOpen(decision);
          }}
        >
          {decision === 'approve' ? 'Read and approve…' : 'Deny…'}
        </button>
      ))}
    </p>
  );
}
