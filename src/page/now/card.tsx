import type { ComponentChildren, JSX } from 'preact';

interface Props {
  title: string;
  /** The number beside the title. */
  count?: number | undefined;
  /** The text if there is nothing to show. */
  none?: string | undefined;
  beside?: ComponentChildren;
  class?: string;
  /** The fragment of an address that leads to it. */
  id?: string;
  children?: ComponentChildren;
}

/** A card of the overview, as high as its content. */
export function Card({
  title,
  count,
  none,
  beside,
  class: style,
  id,
  children,
}: Props): JSX.Element {
  return (
    <section
      class={`card ${style ?? ''}`}
      aria-label={title}
      // What had the focus in it may go, and leaves the focus to the card.
      tabIndex={-1}
      {...(id !== undefined && { id })}
    >
      <header>
        <h2>{title}</h2>
        {count !== undefined && <span class="dim">{count.toLocaleString()}</span>}
        {beside}
      </header>
      <div class="inside">{none === undefined ? children : <p class="dim">{none}</p>}</div>
    </section>
  );
}
