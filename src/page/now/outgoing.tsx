import type { JSX } from 'preact';
import type { WebNow } from '../../api/api.ts';
import { Link } from '../route/link.tsx';
import { ageOf, clockOf } from '../text/time.ts';
import { Card } from './card.tsx';
import { Rows } from './rows.tsx';
import { usePassed } from './passed.ts';

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

/** How many pushes the remote's budget still allows. */
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
