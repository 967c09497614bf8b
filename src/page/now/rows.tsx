import { toChildArray, type ComponentChildren, type JSX } from 'preact';
import { useState } from 'preact/hooks';

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
