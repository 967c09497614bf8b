import type { ComponentChildren, JSX } from 'preact';

interface Props {
  title: string;
  /** The number beside the title. */
  count?: number | undefined;
  /** The text if there is nothing to show. */
  none?: string | undefined;
  beside?: ComponentChildren;
  class?: string;
  children?: ComponentChildren;
}

/** A card of the overview. Its size does not depend on its content, so that nothing moves. */
export function Card({ title, count, none, beside, class: style, children }: Props): JSX.Element {
  return (
    <section class={`card ${style ?? ''}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {count !== undefined && <span class="dim">{count.toLocaleString()}</span>}
        {beside}
      </header>
      <div class="inside" tabIndex={0} role="group" aria-label={title}>
        {none === undefined ? children : <p class="dim">{none}</p>}
      </div>
    </section>
  );
}
