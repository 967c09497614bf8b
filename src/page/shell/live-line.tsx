import type { JSX } from 'preact';
import { useModel } from '../live/use-live.ts';

/** Shows that the page is not live, above everything else and without moving it. */
export function LiveLine(): JSX.Element {
  const { connection, problem } = useModel();
  const lost =
    connection === 'lost'
      ? 'The connection to the server is lost. What is shown may be old; trying again…'
      : undefined;
  return (
    <div class="live bad" role="status">
      {problem ?? lost}
    </div>
  );
}
