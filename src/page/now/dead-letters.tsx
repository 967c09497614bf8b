import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebDeadLetter, WebNow, WebRetried } from '../../api/api.ts';
import { post, wordsOf } from '../live/api.ts';
import { useClock, useModel } from '../live/use-live.ts';
import { endsByItself, reasonInWords } from '../../protocol/text/reasons.ts';
import { attemptsInWords, nextInWords, SIGNS } from '../parts/state-words.ts';
import { Link } from '../route/link.tsx';
import { Problem } from '../parts/view.tsx';
import { ageOf, momentOf, secondsSince, wholeTimeOf } from '../text/time.ts';
import { Card } from './card.tsx';
import { Rows } from './rows.tsx';

/** Deliveries that failed or are held, the reason, and a button to try them again. */
export function DeadLetters({ now }: { now: WebNow }): JSX.Element {
  const { session } = useModel();
  const [said, setSaid] = useState<{ ok: boolean; words: string } | undefined>(undefined);
  const [busy, setBusy] = useState('');
  const letters = now.dead_letters;
  const none =
    letters.length === 0 && now.parked.length === 0
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
      count={now.dead_letters_total}
      none={none}
      class="letters"
      id="letters"
      beside={
        <>
          <span class="dim said" role="status">
            {said?.ok === true ? said.words : ''}
          </span>
          {mayWrite && letters.length > 1 && (
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
      <Rows>
        {now.parked.map(({ actor, tier, reason, until, said }) => (
          <li key={`${actor} ${tier} ${said ?? ''}`}>
            <p>
              <span class={`chip ${HELD[1]}`}>
                <span aria-hidden="true">{HELD[0]}</span> held
              </span>{' '}
              <bdi class="who">{actor}</bdi> <span class="dim">{tier}</span>
            </p>
            <p>
              {reasonInWords(reason)}
              {said === undefined ? '' : `: ${said}`}
              {endsByItself(reason) && (
                <>
                  , tried again{' '}
                  <time dateTime={until} title={wholeTimeOf(until)}>
                    {momentOf(until)}
                  </time>
                </>
              )}
            </p>
          </li>
        ))}
        {letters.map((letter) => (
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
      </Rows>
    </Card>
  );
}

const HELD = SIGNS.held;

/** What a dead letter is called where it is mail. */
const STANDINGS = {
  retrying: 'failing',
  quarantined: 'failed',
  parked: 'parked',
  cancelled: 'failed',
} as const;

function Letter(props: { letter: WebDeadLetter; children: JSX.Element | false }): JSX.Element {
  const { letter, children } = props;
  const { state, actor, channel, channel_name: name, messages, reason, detail } = letter;
  const [sign, style] = SIGNS[STANDINGS[state]];
  const [message] = messages;
  const clock = useClock(5000);
  return (
    <div class="letter">
      <div>
        <p>
          <span class={`chip ${style}`} data-state={STANDINGS[state]}>
            <span aria-hidden="true">{sign}</span> {STANDINGS[state]}
          </span>{' '}
          <bdi class="who">{actor}</bdi>{' '}
          <span class="dim">
            in <bdi>{name}</bdi>
          </span>
        </p>
        <p>
          {message === undefined ? (
            reasonInWords(reason)
          ) : (
            <Link to={{ view: 'thread', channel, relPath: message }}>{reasonInWords(reason)}</Link>
          )}
        </p>
        {detail !== '' && <pre>{detail.slice(0, 600)}</pre>}
        <p class="dim">{historyOf(letter, clock)}</p>
      </div>
      {children}
    </div>
  );
}

/** How often it was tried, when last, and what comes next. @param now milliseconds */
function historyOf(letter: WebDeadLetter, now: number): string {
  const { state, attempts, attempts_since_release: since, attempts_allowed: allowed } = letter;
  const last = `${ageOf(secondsSince(letter.last_failed_at, now))} ago`;
  switch (state) {
    case 'retrying':
      return `${attemptsInWords({ attempts: since, attempts_allowed: allowed })}, last ${last}; ${nextInWords(letter.next_retry_at, now)}`;
    case 'quarantined':
      return `quarantined after ${String(attempts)} ${attempts === 1 ? 'attempt' : 'attempts'}, ${last}; tried again only if you say so`;
    case 'parked':
      return `parked ${last}; runs only if you say so`;
    case 'cancelled':
      return `cancelled ${last}`;
  }
}
