import type { JSX } from 'preact';
import { Link } from '../route/link.tsx';

/** What the marks of the picture mean. */
export function Legend(): JSX.Element {
  return (
    <p class="legend dim" aria-label="Legend">
      <span class="key question">question</span>
      <span class="key answer">answer</span>
      <span class="key answered">answered</span>
      <span class="key running">running ›</span>
      <span class="key failed">failed ✕</span>
      <span class="key parked">parked ‖</span>
      <span class="key cancelled">cancelled –</span>
      <span class="key stopped">cut off</span>
      <span class="key concluded">answered elsewhere, with the wait for it</span>
      <span class="key silent">silent</span>
      <Link to={{ view: 'cost' }}>What it costs</Link>
    </p>
  );
}
