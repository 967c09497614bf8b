import type { JSX } from 'preact';
import type { WebNow } from '../../api/api.ts';
import { Link } from '../route/link.tsx';
import { StateChip } from '../parts/state-chip.tsx';
import { plainOf } from '../text/plain.ts';
import { ageOf } from '../text/time.ts';
import { Card } from './card.tsx';
import { Rows } from './rows.tsx';

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
              <StateChip
                shown={{
                  state: one.state,
                  actor: one.actor,
                  detail: null,
                  since: one.timestamp,
                  delay: one.delay,
                }}
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

/** A round number of seconds in its largest whole unit. */
function boundOf(seconds: number): string {
  if (seconds % 3600 === 0) return `${String(seconds / 3600)} h`;
  return seconds % 60 === 0 ? `${String(seconds / 60)} min` : ageOf(seconds);
}
