import type { ComponentChildren, JSX } from 'preact';

interface Props {
  title: string;
  /** How many there are, beside the title. */
  count?: number | undefined;
  /** Said where there is nothing. */
  none?: string | undefined;
  beside?: ComponentChildren;
  class?: string;
  children?: ComponentChildren;
}

/** A part of the picture. Its size does not depend on what is in it, so that nothing moves. */
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
