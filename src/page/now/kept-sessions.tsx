import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebWarmSession, WebSessionEnded, WebSessions } from '../../api/api.ts';
import { get, post, wordsOf } from '../live/api.ts';
import { useLoaded, useModel, useSeldom } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';
import { momentOf, wholeTimeOf } from '../text/time.ts';
import { Card } from './card.tsx';
import { Rows } from './rows.tsx';

/** A run that has ended is seen soon. */
const LOAD_MS = 1000;
const MIB = 1024 * 1024;

/** The processes of agent CLIs that are kept between runs, each with a button that ends it; nothing where there is none. */
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
