import type { JSX } from 'preact';
import { useClock } from '../live/use-live.ts';
import type { Shown } from '../live/model.ts';
import { SIGNS, sinceOf, standingOf, stateInWords } from './state-words.ts';
import { ageOf, secondsSince } from '../../present/times.ts';

/** The state of a message. */
export function StateChip({ shown, took }: { shown: Shown; took?: number | null }): JSX.Element {
  const standing = standingOf(shown);
  const [sign, style] = SIGNS[standing];
  const since = sinceOf(shown);
  return (
    <span class={`chip ${style}`} data-state={standing}>
      <span aria-hidden="true">{sign}</span> {stateInWords(shown, took ?? null, Date.now())}
      {since !== undefined && <Since at={since} />}
    </span>
  );
}

function Since({ at }: { at: string }): JSX.Element {
  const now = useClock(1000);
  return (
    <time class="since" dateTime={at}>
      {' '}
      {ageOf(secondsSince(at, now))}
    </time>
  );
}
