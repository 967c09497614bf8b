import type { JSX } from 'preact';
import type { WebNote } from '../../api/api.ts';
import { wholeTimeOf, dayOf } from '../../present/times.ts';
import { queuedLine } from '../../present/state.ts';

const STATES: Record<WebNote['state'], { words: string; style: string }> = {
  in_force: { words: 'in force', style: 'good' },
  replaced: { words: 'replaced', style: 'dim' },
  forgotten: { words: 'forgotten', style: 'dim' },
  forgets: { words: 'only forgets', style: 'dim' },
};

/** Kind of a note, if it is not a plain one, and whether it is no longer in force. */
export function NoteChips({ note }: { note: WebNote }): JSX.Element {
  const { kind, state, queued } = note;
  const { words, style } = STATES[state];
  return (
    <>
      {kind !== 'note' && <span class="chip">{kind}</span>}{' '}
      {state !== 'in_force' && <span class={`chip ${style}`}>{words}</span>}{' '}
      {queued && <span class="chip wait">{queuedLine()}</span>}
    </>
  );
}

/** Audience of a note, its writer, and its time. */
export function NoteOrigin({ note }: { note: WebNote }): JSX.Element {
  const { scope, channel, from, timestamp, changed_by: changer } = note;
  return (
    <span class="dim">
      <Scope scope={scope} channel={channel} />, from <bdi>{from}</bdi>
      {changer !== null && (
        <>
          , changed by <bdi>{changer}</bdi>
        </>
      )}
      ,{' '}
      <time dateTime={timestamp} title={wholeTimeOf(timestamp)}>
        {dayOf(timestamp)}
      </time>
    </span>
  );
}

function Scope({ scope, channel }: Pick<WebNote, 'scope' | 'channel'>): JSX.Element {
  return <bdi>{scopeWords({ scope, channel })}</bdi>;
}

/** Words the audience of the notes of a scope. */
export function scopeWords({ scope, channel }: Pick<WebNote, 'scope' | 'channel'>): string {
  if (scope === 'global') return 'for all';
  if (scope.startsWith('actor:')) return `for ${scope.slice('actor:'.length)} alone`;
  return `in ${channel ?? scope}`;
}
