import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebNow, WebRun, WebBrokenFiles, WebDeadLetter, WebRetried } from '../../api/api.ts';
import { useModel, useLoaded, useSeldom, useClock } from '../live/use-live.ts';
import { View, Problem } from '../parts/view.tsx';
import { Actors, Hosts, watchButtonId } from './hosts.tsx';
import { KeptSessions, Budget, Malformed, OutboxCard, Waiting } from './waiting.tsx';
import { Verdict } from './verdict.tsx';
import { WatchedRun } from './watched-run.tsx';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { get, post, wordsOf } from '../live/api.ts';
import { Card, Rows } from './card.tsx';
import { reasonInWords } from '../../protocol/text/words.ts';
import { lookOf, type Standing } from '../../present/state.ts';
import { historyOf, LETTER_STANDINGS } from '../../present/letters.ts';
import { parkedWords, releasedWords } from '../../present/holds.ts';
import { Link } from '../route/link.tsx';
import { localTimes, momentOf } from '../../present/times.ts';

/** The whole bus at a glance. */
export function NowView(): JSX.Element {
  const { now } = useModel();
  return (
    <View title="Now" class="now">
      {now === undefined ? (
        <p class="dim" role="status">
          Loading…
        </p>
      ) : (
        <Known now={now} />
      )}
    </View>
  );
}

function Known({ now }: { now: WebNow }): JSX.Element {
  const [watched, setWatched] = useState<readonly WebRun[]>([]);
  const close = (run: WebRun): void => {
    setWatched((all) => all.filter(({ id }) => id !== run.id));
    // The button is enabled again when this is drawn.
    setTimeout(() => document.getElementById(watchButtonId(run))?.focus());
  };
  return (
    <>
      <Verdict now={now} open />
      <div class="cards">
        <Actors
          now={now}
          watched={watched}
          watch={(run) => {
            setWatched((all) => [...all, run]);
          }}
        />
        {watched.map((run) => (
          <WatchedRun
            key={run.id}
            run={run}
            close={() => {
              close(run);
            }}
          />
        ))}
        <KeptSessions />
        <Waiting now={now} />
        <DeadLetters now={now} />
        <Hosts now={now} />
        <OutboxCard now={now} />
        <Budget now={now} />
        {now.malformed_total > 0 && <Malformed now={now} />}
        <BrokenFiles />
      </div>
    </>
  );
}

/** Somebody who corrects a file wants to see that it is right soon. */
const LOAD_MS = 1000;

/** The schedules, subscriptions and skills that cannot be read; nothing where there is none. */
function BrokenFiles(): JSX.Element | null {
  const { value, again } = useLoaded<WebBrokenFiles>('broken files', (signal) =>
    get<WebBrokenFiles>('broken-files', {}, signal),
  );
  useSeldom('tip', LOAD_MS, again);
  if (value === undefined || value.total === 0) return null;
  const { files, total } = value;
  const more = total - files.length;
  return (
    <Card title="Definitions that cannot be read" count={total}>
      <Rows>
        {files.map(({ kind, path, problem }) => (
          <li key={path}>
            <p>
              <span class="chip">{kind}</span> <bdi class="mono">{escapeInvisible(path)}</bdi>
            </p>
            <p class="dim">{escapeInvisible(problem)}</p>
          </li>
        ))}
      </Rows>
      {more > 0 && <p class="dim">and {more} more</p>}
    </Card>
  );
}

/** Deliveries that failed or are held, the reason, and a button to try them again. */
function DeadLetters({ now }: { now: WebNow }): JSX.Element {
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
          setSaid({ ok: true, words: releasedWords(released.length, woken) });
        },
        (error: unknown) => {
          setSaid({ ok: false, words: wordsOf(error) });
        },
      )
      .finally(() => {
        setBusy('');
      });
  };
  const mayOperate = session?.may_operate === true;
  return (
    <Card
      title="Dead letters and parked mail"
      count={now.dead_letters_total}
      none={none}
      class="letters"
      beside={
        <>
          <span class="dim said" role="status">
            {said?.ok === true ? said.words : ''}
          </span>
          {mayOperate && letters.length > 1 && (
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
        {now.parked.map((parked) => (
          <li key={`${parked.actor} ${parked.tier} ${parked.said ?? ''}`}>
            <p>
              <Named standing="held" /> <bdi class="who">{parked.actor}</bdi>{' '}
              <span class="dim">{parked.tier}</span>
            </p>
            <p>{localTimes(parkedWords(parked), momentOf)}</p>
          </li>
        ))}
        {letters.map((letter) => (
          <li key={letter.id}>
            <Letter letter={letter}>
              {mayOperate && (
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

/** A standing by its sign and name. */
function Named({ standing }: { standing: Standing }): JSX.Element {
  const { sign, tone } = lookOf(standing);
  return (
    <span class={`chip ${tone}`} data-state={standing}>
      <span aria-hidden="true">{sign}</span> {standing}
    </span>
  );
}

function Letter(props: { letter: WebDeadLetter; children: JSX.Element | false }): JSX.Element {
  const { letter, children } = props;
  const { state, actor, channel, channel_name: name, messages, reason, detail } = letter;
  const [message] = messages;
  const clock = useClock(5000);
  return (
    <div class="letter">
      <div>
        <p>
          <Named standing={LETTER_STANDINGS[state]} /> <bdi class="who">{actor}</bdi>{' '}
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
        <p class="dim">{localTimes(historyOf(letter, clock), momentOf)}</p>
      </div>
      {children}
    </div>
  );
}
