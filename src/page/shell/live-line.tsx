import type { JSX } from 'preact';
import { connectionWords } from '../live/connection.ts';
import { useModel } from '../live/use-live.ts';

/** Shows that the page is not live, above everything else and without moving it. */
export function LiveLine(): JSX.Element {
  const { connection, refusal, problem } = useModel();
  return (
    <div class="live bad" role="status">
      {connectionWords(connection, refusal) ?? problem}
    </div>
  );
}
