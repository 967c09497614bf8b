import type { JSX } from 'preact';
import type { WebNow, WebWarmSession, WebSessionEnded, WebSessions } from '../../api/api.ts';
import { Link } from '../route/link.tsx';
import { StateChips } from '../parts/state-chip.tsx';
import { plainOf } from '../text/plain.ts';
import { Card, Rows, usePassed } from './card.tsx';
import { useState } from 'preact/hooks';
import { get, post, wordsOf } from '../live/api.ts';
import { useLoaded, useModel, useSeldom } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';
import { ageOf, clockOf, momentOf, wholeTimeOf } from '../../present/times.ts';

/** Messages that wait for an answer, by how long they have waited. */
export function Waiting({ now }: { now: WebNow }): JSX.Element {
  const waiting = now.waiting;
  return (
    <Card
      title="Waiting mail"
      count={waiting.total}
      none={waiting.total === 0 ? 'Nothing waits for an answer.' : undefined}
    >
      {waiting.total > 0 && <Ages ages={waiting.ages} total={waiting.total} />}
      <Rows>
        {waiting.messages.map((one) => (
          <li key={`${one.channel}/${one.relPath} ${one.actor}`}>
            <p dir="auto">
              <Link to={{ view: 'thread', channel: one.channel, relPath: one.relPath }}>
                {one.excerpt === '' ? 'empty message' : plainOf(one.excerpt)}
              </Link>
            </p>
            <p class="dim">
              from <bdi>{one.from}</bdi> in <bdi>{one.channel_name}</bdi>{' '}
              <StateChips
                states={[{ ...one, detail: null, since: one.timestamp }]}
                channel={one.channel}
              />
            </p>
          </li>
        ))}
      </Rows>
      {!waiting.complete && <p class="dim">Older messages may wait too.</p>}
    </Card>
  );
}

function Ages({ ages, total }: { ages: WebNow['waiting']['ages']; total: number }): JSX.Element {
  return (
    <ul class="plain ages">
      {ages.map(({ under_s: under, messages }, index) => (
        <li key={under}>
          <span class="dim">{rangeOf(ages[index - 1]?.under_s ?? 0, under)}</span>
          <meter min={0} max={Math.max(1, total)} value={messages} aria-label="messages" />
          <span>{messages}</span>
        </li>
      ))}
    </ul>
  );
}

function rangeOf(from: number, under: number | null): string {
  if (under === null) return `over ${boundOf(from)}`;
  return from === 0 ? `under ${boundOf(under)}` : `${boundOf(from)} to ${boundOf(under)}`;
}

/** Rounds a number of seconds to its largest whole unit. */
function boundOf(seconds: number): string {
  if (seconds % 3600 === 0) return `${String(seconds / 3600)} h`;
  return seconds % 60 === 0 ? `${String(seconds / 60)} min` : ageOf(seconds);
}

/** Messages that this machine has yet to push. */
export function OutboxCard({ now }: { now: WebNow }): JSX.Element {
  const passed = usePassed(now.at);
  return (
    <Card
      title="Outbox"
      count={now.outbox_total}
      none={now.outbox_total === 0 ? 'Everything is on the remote.' : undefined}
    >
      <Rows>
        {now.outbox.map(({ id, age_s: age, messages }) => (
          <li key={id}>
            <p class="dim">queued for {ageOf(age + passed)}</p>
            {messages.map(({ channel, relPath }) => (
              <p key={relPath} class="mono">
                <Link to={{ view: 'message', channel, relPath }}>{relPath}</Link>
              </p>
            ))}
          </li>
        ))}
      </Rows>
    </Card>
  );
}

/** Number of pushes that the remote's budget still allows. */
export function Budget({ now }: { now: WebNow }): JSX.Element {
  const budget = now.push_budget;
  return (
    <Card title="Push budget" none={budget === null ? 'This remote has no limit.' : undefined}>
      {budget !== null && (
        <>
          <p>
            {budget.used} of {budget.pushes_per_minute} pushes to <bdi>{budget.host}</bdi> in the
            last minute
          </p>
          <meter
            class="wide"
            min={0}
            max={budget.pushes_per_minute}
            value={budget.used}
            aria-label="pushes used"
          />
          <p class="dim">
            {budget.next_at === null
              ? `${String(budget.pushes_per_minute - budget.used)} left`
              : `the next at ${clockOf(budget.next_at)}`}
          </p>
        </>
      )}
    </Card>
  );
}

/** Files that cannot be read as messages. */
export function Malformed({ now }: { now: WebNow }): JSX.Element {
  return (
    <Card title="Malformed files" count={now.malformed_total}>
      <Rows>
        {now.malformed.map(({ path, reason }) => (
          <li key={path}>
            <p class="mono">{path}</p>
            <p class="dim">{reason}</p>
          </li>
        ))}
      </Rows>
    </Card>
  );
}

/** A run that has ended is seen soon. */
const LOAD_MS = 1000;
const MIB = 1024 * 1024;

/**
 * Processes of agent CLIs that are pooled between runs, each with a button that ends it; nothing where there is none.
 */
export function KeptSessions(): JSX.Element | null {
  const { session } = useModel();
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState('');
  const { value, again } = useLoaded<WebSessions>('kept sessions', (signal) =>
    get<WebSessions>('sessions', {}, signal),
  );
  useSeldom('tip', LOAD_MS, again);
  if (value === undefined || value.sessions.length === 0) return null;
  const end = (id: string): void => {
    setBusy(id);
    setProblem(undefined);
    post<WebSessionEnded>(`sessions/${id}/end`, {})
      .catch((error: unknown) => {
        setProblem(wordsOf(error));
      })
      .finally(() => {
        setBusy('');
        again();
      });
  };
  const all = value.sessions.reduce((sum, { memory }) => sum + memory, 0);
  return (
    <Card
      title="Sessions kept warm"
      count={value.sessions.length}
      class="sessions"
      beside={<span class="dim">{megabytes(all)}</span>}
    >
      <Problem words={problem} />
      <Rows>
        {value.sessions.map((one) => (
          <li key={one.id}>
            <p>
              <bdi class="who">{one.actor}</bdi> <span class="chip">warm</span>{' '}
              <span class="dim">
                {one.agent}, {one.tier}
              </span>
            </p>
            <p class="dim">
              {wordsFor(one)}, last used{' '}
              <time dateTime={one.used} title={wholeTimeOf(one.used)}>
                {momentOf(one.used)}
              </time>
            </p>
            {session?.read_only === false && (
              <button
                type="button"
                aria-label={`End session of ${one.actor} with ${one.agent}`}
                disabled={busy !== ''}
                onClick={() => {
                  end(one.id);
                }}
              >
                End session
              </button>
            )}
          </li>
        ))}
      </Rows>
    </Card>
  );
}

function wordsFor({ turns, context, memory }: WebWarmSession): string {
  const tokens =
    context === null
      ? ''
      : `, ${context.used.toLocaleString()} of ${context.size.toLocaleString()} tokens`;
  return `${turns === 1 ? '1 run' : `${String(turns)} runs`}${tokens}, ${megabytes(memory)}`;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MIB).toLocaleString()} MiB`;
}
