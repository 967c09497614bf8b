import { type ComponentChildren, type JSX, toChildArray } from 'preact';
import { useState } from 'preact/hooks';
import { useClock } from '../live/use-live.ts';
import { secondsSince } from '../../present/times.ts';

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

/** A card of the overview, as high as its content. */
export function Card({ title, count, none, beside, class: style, children }: Props): JSX.Element {
  return (
    <section
      class={`card ${style ?? ''}`}
      aria-label={title}
      // The element with the focus in it may go, and leaves the focus to the card.
      tabIndex={-1}
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

/** The most rows that a card shows unasked, so that one long list does not hide the other cards. */
const MOST = 6;

/** The rows of a card, `<li>` elements; many of them are folded. */
export function Rows({ children }: { children: ComponentChildren }): JSX.Element {
  const [open, setOpen] = useState(false);
  const rows = toChildArray(children);
  const more = rows.length - MOST;
  return (
    <>
      <ul class="plain rows">{open ? rows : rows.slice(0, MOST)}</ul>
      {more > 0 && (
        <button
          type="button"
          class="more"
          aria-expanded={open}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {open ? 'Show fewer' : `Show ${String(more)} more`}
        </button>
      )}
    </>
  );
}

/** Seconds since a time that the server reported, so that ages keep growing between two reports. */
export function usePassed(at: string): number {
  return secondsSince(at, useClock(1000));
}
