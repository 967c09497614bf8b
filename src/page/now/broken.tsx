import type { JSX } from 'preact';
import type { WebBrokenFiles } from '../../api/api.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { get } from '../live/api.ts';
import { useLoaded, useSeldom } from '../live/use-live.ts';
import { Card } from './card.tsx';
import { Rows } from './rows.tsx';

/** Somebody who corrects a file wants to see that it is right soon. */
const LOAD_MS = 1000;

/** The schedules, subscriptions and skills that cannot be read; nothing where there is none. */
export function BrokenFiles(): JSX.Element | null {
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
