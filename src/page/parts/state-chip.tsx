import type { JSX } from 'preact';
import { useClock } from '../live/use-live.ts';
import { ageOf, secondsSince } from '../text/time.ts';
import type { Shown } from '../live/states.ts';

/** A symbol for each state, so that colour is not the only difference. */
const SIGNS: Record<Shown['state'], [sign: string, style: string]> = {
  sending: ['◌', 'wait'],
  queued: ['◌', 'wait'],
  sent: ['→', 'busy'],
  waiting: ['◔', 'wait'],
  running: ['▶', 'busy'],
  answered: ['✓', 'good'],
  silent: ['–', 'dim'],
  failed: ['✕', 'bad'],
  parked: ['‖', 'held'],
};

/** The state of a message. */
export function StateChip({ shown, took }: { shown: Shown; took?: number | null }): JSX.Element {
  const [sign, style] = SIGNS[shown.state];
  const open = ['waiting', 'running', 'queued', 'sending'].includes(shown.state);
  return (
    <span class={`chip ${style}`} data-state={shown.state}>
      <span aria-hidden="true">{sign}</span> {wordsOf(shown, took ?? null)}
      {open && <Since at={shown.since} />}
    </span>
  );
}

function Since({ at }: { at: string }): JSX.Element {
  const now = useClock(1000);
  return <span class="since"> {ageOf(secondsSince(at, now))}</span>;
}

function wordsOf({ state, actor, detail }: Shown, took: number | null): string {
  const who = actor ?? '';
  switch (state) {
    case 'sending':
      return 'sending';
    case 'queued':
      return 'queued here';
    case 'sent':
      return 'sent';
    case 'waiting':
      return `waiting for ${who}`;
    case 'running':
      return `${who} is working on it`;
    case 'answered':
      return took === null ? `${who} answered` : `${who} answered after ${ageOf(took)}`;
    case 'silent':
      return `${who} said nothing`;
    case 'failed':
      return `${who} failed${detail === null ? '' : `, dead letter ${detail.slice(-6)}`}`;
    case 'parked':
      return `${who}: parked`;
  }
}
