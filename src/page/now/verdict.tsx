import type { JSX } from 'preact';
import type { WebNow } from '../../api/api.ts';
import { ageOf, clockOf, dayOf } from '../text/time.ts';
import { usePassed } from './passed.ts';

/** Whether anything is stuck, and what to do about it. */
export function Verdict({ now }: { now: WebNow | undefined }): JSX.Element {
  const ok = now?.health.ok;
  const [first, ...others] = now?.health.problems ?? [];
  return (
    <section
      class={`verdict ${ok === undefined ? '' : ok ? 'ok' : 'not-ok'}`}
      aria-label="Verdict"
      aria-busy={now === undefined}
    >
      <div class="words" role="status">
        {ok === true && (
          <p class="good">
            <span aria-hidden="true">✓</span> healthy
          </p>
        )}
        {ok === false && (
          <p class="bad">
            <span aria-hidden="true">✕</span> stuck
          </p>
        )}
      </div>
      <div class="inside" tabIndex={0} role="group" aria-label="What is stuck, and what to do">
        {ok === true && <p>Nothing is stuck.</p>}
        {first !== undefined && (
          <ul class="plain problems">
            {[first, ...others].map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        )}
        {now !== undefined && <Dispatcher now={now} />}
      </div>
    </section>
  );
}

function Dispatcher({ now }: { now: WebNow }): JSX.Element {
  const passed = usePassed(now.at);
  const { dispatcher, paused } = now;
  return (
    <p class="dim">
      {dispatcher === null
        ? 'No dispatcher runs on this machine.'
        : `The dispatcher here, process ${String(dispatcher.pid)}, has run since ${dayOf(dispatcher.started_at)} ${clockOf(dispatcher.started_at)}; its last word is ${ageOf(dispatcher.age_s + passed)} old.`}
      {paused !== null && ` Paused by ${paused.by} since ${clockOf(paused.since)}.`}
    </p>
  );
}
