import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebDeadLetter, WebNow, WebRetried } from '../../api/api.ts';
import { post, wordsOf } from '../live/api.ts';
import { useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { Problem } from '../parts/view.tsx';
import { ageOf, secondsSince, wholeTimeOf } from '../text/time.ts';
import { Card } from './card.tsx';

/** Deliveries that failed or are held, the reason, and a button to try them again. */
export function DeadLetters({ now }: { now: WebNow | undefined }): JSX.Element {
  const { session } = useModel();
  const [said, setSaid] = useState<{ ok: boolean; words: string } | undefined>(undefined);
  const [busy, setBusy] = useState('');
  const letters = now?.dead_letters;
  const none =
    letters?.length === 0 && now?.parked.length === 0
      ? 'None: every delivery worked out.'
      : undefined;
  const retry = (id: string): void => {
    setBusy(id);
    post<WebRetried>(`dead-letters/${id}/retry`, {})
      .then(
        ({ released, woken }) => {
          const words = `${String(released.length)} released${woken ? '' : '; no dispatcher is running to try them'}`;
          setSaid({ ok: true, words });
        },
        (error: unknown) => {
          setSaid({ ok: false, words: wordsOf(error) });
        },
      )
      .finally(() => {
        setBusy('');
      });
  };
  const mayWrite = session?.read_only === false;
  return (
    <Card
      title="Dead letters and parked mail"
      count={now?.dead_letters_total}
      none={none}
      class="letters"
      beside={
        <>
          <span class="dim said" role="status">
            {said?.ok === true ? said.words : ''}
          </span>
          {mayWrite && letters !== undefined && letters.length > 1 && (
            <button
              type="button"
              disabled={busy !== ''}
              onClick={() => {
                retry('all');
              }}
            >
              Retry all
            </button>
          )}
        </>
      }
    >
      <Problem words={said?.ok === false ? said.words : undefined} />
      <ul class="plain rows">
        {now?.parked.map(({ actor, tier, reason, until }) => (
          <li key={`${actor} ${tier}`}>
            <p>
              <span class="chip held">‖ parked</span> <bdi class="who">{actor}</bdi>{' '}
              <span class="dim">{tier}</span>
            </p>
            <p>
              {reason}, until <time dateTime={until}>{wholeTimeOf(until)}</time>
            </p>
          </li>
        ))}
        {letters?.map((letter) => (
          <li key={letter.id}>
            <Letter letter={letter}>
              {mayWrite && (
                <button
                  type="button"
                  aria-label={`Retry ${letter.id}, ${letter.actor}: ${letter.reason}`}
                  disabled={busy !== ''}
                  onClick={() => {
                    retry(letter.id);
                  }}
                >
                  Retry
                </button>
              )}
            </Letter>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const SIGNS = {
  retrying: ['↻', 'wait'],
  quarantined: ['✕', 'bad'],
  parked: ['‖', 'held'],
} as const;

function Letter(props: { letter: WebDeadLetter; children: JSX.Element | false }): JSX.Element {
  const { letter, children } = props;
  const { state, actor, channel, channel_name: name, messages, reason, detail } = letter;
  const [sign, style] = SIGNS[state];
  const [message] = messages;
  return (
    <div class="letter">
      <div>
        <p>
          <span class={`chip ${style}`}>
            <span aria-hidden="true">{sign}</span> {state}
          </span>{' '}
          <bdi class="who">{actor}</bdi>{' '}
          <span class="dim">
            in <bdi>{name}</bdi>, {letter.attempts} {letter.attempts === 1 ? 'attempt' : 'attempts'}
            , last {ageOf(secondsSince(letter.last_failed_at, Date.now()))} ago
          </span>
        </p>
        <p>
          {message === undefined ? (
            reason
          ) : (
            <Link to={{ view: 'thread', channel, relPath: message }}>{reason}</Link>
          )}
        </p>
        {detail !== '' && <pre tabIndex={0}>{detail.slice(0, 600)}</pre>}
      </div>
      {children}
    </div>
  );
}
