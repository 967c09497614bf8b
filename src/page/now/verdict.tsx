import type { JSX } from 'preact';
import type { WebFinding, WebNow } from '../../api/api.ts';
import { countOf } from '../../protocol/text/words.ts';
import { Copy } from '../parts/copy.tsx';
import { Link } from '../route/link.tsx';
import { usePassed } from './card.tsx';
import { ageOf, momentOf, localTimes } from '../../present/times.ts';

/** The most problems that are shown unasked. */
const SHOWN = 6;

/** Whether anything is stuck, in one line that opens: who ends it, and how. @param open whether it is open already */
export function Verdict({ now, open = false }: { now: WebNow; open?: boolean }): JSX.Element {
  const { health, findings } = now;
  const act = findings.filter(({ kind }) => kind === 'act');
  const wait = findings.filter(({ kind }) => kind === 'wait');
  const [state, sign, word] = health.ok
    ? (['good', '✓', 'healthy'] as const)
    : act.length > 0
      ? (['bad', '✕', 'stuck'] as const)
      : (['wait', '◔', 'waits'] as const);
  const counts = [
    ...(act.length === 0 ? [] : [`${countOf(act.length, 'thing')} to do`]),
    ...(wait.length === 0 ? [] : [`${String(wait.length)} going on without you`]),
  ];
  return (
    <section class={`verdict ${state}`} aria-label="Verdict">
      <details open={open}>
        <summary>
          <strong class={state} role="status">
            <span aria-hidden="true">{sign}</span> {word}
          </strong>{' '}
          {health.ok ? 'Nothing is stuck.' : counts.join(', ')}
        </summary>
        <div class="inside">
          <Findings title="Needs you" findings={act} class="bad" />
          <Findings title="Goes on without you" findings={wait} class="wait" />
          {now.dispatcher !== null && <Dispatcher dispatcher={now.dispatcher} at={now.at} />}
        </div>
      </details>
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
                <Link class="button" to={{ view: 'inbox', show: 'failed' }}>
                  Show them
                </Link>
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
