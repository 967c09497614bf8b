import type { JSX } from 'preact';
import type { WebFinding, WebNow } from '../../api/api.ts';
import { Copy } from '../parts/copy.tsx';
import { usePassed } from './card.tsx';
import { ageOf, momentOf, localTimes } from '../../present/times.ts';

/** The most problems that are shown unasked. */
const SHOWN = 6;

/** Whether anything is stuck, who ends it, and how. */
export function Verdict({ now }: { now: WebNow }): JSX.Element {
  const { health, findings } = now;
  const act = findings.filter(({ kind }) => kind === 'act');
  const wait = findings.filter(({ kind }) => kind === 'wait');
  const state = health.ok ? 'ok' : act.length > 0 ? 'not-ok' : 'waits';
  return (
    <section class={`verdict ${state}`} aria-label="Verdict">
      <div class="words" role="status">
        {health.ok && (
          <p class="good">
            <span aria-hidden="true">✓</span> healthy
          </p>
        )}
        {state === 'not-ok' && (
          <p class="bad">
            <span aria-hidden="true">✕</span> stuck
          </p>
        )}
        {state === 'waits' && (
          <p class="wait">
            <span aria-hidden="true">◔</span> waits
          </p>
        )}
      </div>
      <div class="inside">
        {health.ok && <p>Nothing is stuck.</p>}
        <Findings title="Needs you" findings={act} class="bad" />
        <Findings title="Goes on without you" findings={wait} class="wait" />
        {now.dispatcher !== null && <Dispatcher dispatcher={now.dispatcher} at={now.at} />}
      </div>
    </section>
  );
}

function Findings(props: {
  title: string;
  findings: readonly WebFinding[];
  class: string;
}): JSX.Element | null {
  const { title, findings, class: style } = props;
  if (findings.length === 0) return null;
  const list = (some: readonly WebFinding[]): JSX.Element => (
    <ul class="plain problems">
      {some.map(({ problem, command }) => (
        <li key={problem}>
          <p>{localTimes(problem, momentOf)}</p>
          {command !== null && (
            <p class="todo">
              <code>{command}</code>
              <Copy text={command} />
              {command.startsWith('crosstalk dlq') && (
                <a class="button" href="#letters">
                  Show them
                </a>
              )}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
  return (
    <>
      <h2 class={style}>{title}</h2>
      {list(findings.slice(0, SHOWN))}
      {findings.length > SHOWN && (
        <details>
          <summary>{findings.length - SHOWN} more</summary>
          {list(findings.slice(SHOWN))}
        </details>
      )}
    </>
  );
}

/** The dispatcher that runs here; that none does, or that it is paused, is among the findings. */
function Dispatcher({
  dispatcher: { pid, started_at: started, age_s: age },
  at,
}: {
  dispatcher: NonNullable<WebNow['dispatcher']>;
  at: string;
}): JSX.Element {
  const passed = usePassed(at);
  return (
    <p class="dim">
      The dispatcher here, process {pid}, has run since {momentOf(started)} and reported{' '}
      {ageOf(age + passed)} ago.
    </p>
  );
}
