import type { JSX } from 'preact';
import { Destinations } from './destinations.tsx';

/** The navigation on a narrow screen. */
export function Tabs(): JSX.Element {
  return (
    <nav class="tabs" aria-label="Parts">
      <Destinations />
    </nav>
  );
}
