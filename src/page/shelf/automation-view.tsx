import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type {
  WebEdited,
  WebFired,
  WebSchedule,
  WebSchedules,
  WebSubscription,
  WebSubscriptions,
} from '../../api/api.ts';
import { momentOf } from '../../present/times.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { post, wordsOf } from '../live/api.ts';
import { useModel } from '../live/use-live.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Loading, Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';
import { useShelf } from './use-shelf.ts';

/** Sends something that changes this machine, and says how it went. */
type Act = (key: string, path: string, said: (answer: never) => string) => void;

/** Schedules, subscriptions and the pause of this machine, each with what one can do about it. */
export function AutomationView(): JSX.Element {
  const { session, now } = useModel();
  const [busy, setBusy] = useState('');
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const schedules = useShelf<WebSchedules>('schedules');
  const subscriptions = useShelf<WebSubscriptions>('subscriptions');
  const act: Act = (key, path, words) => {
    setBusy(key);
    setProblem(undefined);
    post<never>(path, {})
      .then(
        (answer) => {
          setSaid(words(answer));
        },
        (error: unknown) => {
          setSaid('');
          setProblem(wordsOf(error));
        },
      )
      .finally(() => {
        setBusy('');
      });
  };
  const pause = now?.paused ?? null;
  const button = (key: string, name: string, path: string, words: (of: never) => string) =>
    session?.may_operate === true && (
      <button
        type="button"
        disabled={busy !== ''}
        aria-label={`${name}: ${key}`}
        onClick={() => {
          act(key, path, words);
        }}
      >
        {name}
      </button>
    );
  return (
    <View title="Automation" class="shelf" beside={<ShelfLinks />}>
      <p class="dim" role="status">
        {said}
      </p>
      <Problem words={problem} />
      <section aria-label="This machine" class="card">
        <h2>This machine</h2>
        <p>
          {pause === null ? (
            'Runs start as mail comes.'
          ) : (
            <>
              Paused by <bdi>{escapeInvisible(pause.by)}</bdi> since {momentOf(pause.since)}: mail
              waits, and nothing runs.
            </>
          )}{' '}
          {pause === null
            ? button('this machine', 'Pause', 'pause', () => 'Paused: no run starts here.')
            : button('this machine', 'Resume', 'resume', () => 'Runs start again.')}
        </p>
      </section>
      <section aria-label="Schedules" class="card">
        <h2>Schedules</h2>
        <Problem words={schedules.problem} />
        <Loading of={schedules} />
        {schedules.value?.schedules.length === 0 && (
          <p>
            Nothing is sent at a time of its own. <code>crosstalk schedule add</code> makes a
            schedule.
          </p>
        )}
        <ul class="plain hits">
          {schedules.value?.schedules.map((one) => (
            <Schedule key={one.path} schedule={one}>
              {button(
                one.name,
                'Run now',
                `schedules/${encodeURIComponent(one.name)}/run`,
                ({ name, state }: WebFired) => `${name} has ${state} its message.`,
              )}{' '}
              {button(
                one.name,
                one.enabled ? 'Pause' : 'Resume',
                `schedules/${encodeURIComponent(one.name)}/${one.enabled ? 'pause' : 'resume'}`,
                editedWords,
              )}
            </Schedule>
          ))}
        </ul>
      </section>
      <section aria-label="Subscriptions" class="card">
        <h2>Subscriptions</h2>
        <Problem words={subscriptions.problem} />
        <Loading of={subscriptions} />
        {subscriptions.value?.subscriptions.length === 0 && (
          <p>
            No task follows on answers or events. <code>crosstalk subscription add</code> makes a
            subscription.
          </p>
        )}
        <ul class="plain hits">
          {subscriptions.value?.subscriptions.map((one) => (
            <Subscription key={one.path} subscription={one}>
              {button(
                one.name,
                one.enabled ? 'Pause' : 'Resume',
                `subscriptions/${encodeURIComponent(one.name)}/${one.enabled ? 'pause' : 'resume'}`,
                editedWords,
              )}
            </Subscription>
          ))}
        </ul>
      </section>
    </View>
  );
}

function editedWords({ path, state }: WebEdited): string {
  return `${path} is changed${state === 'queued' ? ', and waits to be pushed' : ''}.`;
}

interface RowProps {
  children?: ComponentChildren;
}

function Schedule({ schedule, children }: RowProps & { schedule: WebSchedule }): JSX.Element {
  const { name, host, to, when, timezone, enabled, next, last, outcome, sent, problems } = schedule;
  const isRead = problems.length === 0;
  const [channel, ...relPath] = (sent ?? '').split('/');
  return (
    <li>
      <p>
        <bdi class="who">{escapeInvisible(name)}</bdi>{' '}
        {!enabled && isRead && <span class="chip wait">paused</span>}{' '}
        {isRead && (
          <span class="dim">
            <bdi>
              {when} {timezone}
            </bdi>
            , <bdi>{host}</bdi> → <bdi>{to}</bdi>
          </span>
        )}
      </p>
      <Broken problems={problems} />
      {isRead && (
        <p>
          {next === null ? 'Not due here.' : `Next ${momentOf(next)}.`}{' '}
          {last !== null && (
            <>
              Last {momentOf(last)}: {outcome}
              {channel !== undefined && relPath.length > 0 && (
                <>
                  ,{' '}
                  <Link to={{ view: 'message', channel, relPath: relPath.join('/') }}>
                    its message
                  </Link>
                </>
              )}
              .
            </>
          )}{' '}
          {children}
        </p>
      )}
    </li>
  );
}

function Subscription({
  subscription,
  children,
}: RowProps & { subscription: WebSubscription }): JSX.Element {
  const { name, source, to, match, host, enabled, fired, problems } = subscription;
  const isRead = problems.length === 0;
  return (
    <li>
      <p>
        <bdi class="who">{escapeInvisible(name)}</bdi>{' '}
        {!enabled && isRead && <span class="chip wait">paused</span>}{' '}
        {fired && <span class="chip">has fired, once</span>}{' '}
        {isRead && (
          <span class="dim">
            <bdi>{source}</bdi>
            {match !== null && (
              <>
                {' '}
                with <bdi>{match}</bdi>
              </>
            )}
            , <bdi>{host ?? 'the host of the event'}</bdi> → <bdi>{to}</bdi>
          </span>
        )}
      </p>
      <Broken problems={problems} />
      {isRead && <p>{children}</p>}
    </li>
  );
}

function Broken({ problems }: { problems: readonly string[] }): JSX.Element | null {
  if (problems.length === 0) return null;
  return <p class="bad">cannot be read: {escapeInvisible(problems.join('; '))}</p>;
}
