/**
 * Keeps the focus from falling to the body. When the focused element is removed or becomes unusable, as a button may
 * that was just pressed, a neighbour gets the focus, or the element around it.
 *
 * @param main the part with the content of the view, whose heading gets the focus if nothing else is left
 * @returns ends this
 */
export function keepFocus(main: HTMLElement): () => void {
  /** The focused element and everything around it, from the inside out. */
  let path: Element[] = [];
  const gained = ({ target }: FocusEvent): void => {
    path = target instanceof Element ? withAncestors(target) : [];
  };
  const left = (): void => {
    // A removal moves the focus too; it has happened when this runs.
    queueMicrotask(() => {
      const isChosen = document.activeElement === document.body && document.hasFocus();
      if (isChosen && !isLost(path[0])) path = [];
    });
  };
  const look = (): void => {
    const [lost] = path;
    const { activeElement } = document;
    if (lost === undefined || !isLost(lost)) return;
    if (activeElement === document.body || activeElement === lost)
      heirOf(path, main)?.focus({ preventScroll: true });
  };
  const changes = new MutationObserver(look);
  changes.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
  document.addEventListener('focusin', gained);
  document.addEventListener('focusout', left);
  return () => {
    changes.disconnect();
    document.removeEventListener('focusin', gained);
    document.removeEventListener('focusout', left);
  };
}

/** Gives the focus to the conversation that is shown, or else to the heading of the view. */
export function focusContent(main: HTMLElement | null): void {
  const content =
    main?.querySelector<HTMLElement>('[role=feed]') ?? main?.querySelector<HTMLElement>('h1');
  content?.focus({ preventScroll: true });
}

function withAncestors(element: Element): Element[] {
  const path: Element[] = [];
  for (let one: Element | null = element; one !== null; one = one.parentElement) path.push(one);
  return path;
}

function isLost(element: Element | undefined): boolean {
  return element !== undefined && (!element.isConnected || element.matches(':disabled'));
}

function heirOf(path: readonly Element[], main: HTMLElement): HTMLElement | null {
  const [lost] = path;
  if (lost?.isConnected === true) {
    const neighbours = [...(lost.parentElement?.children ?? [])];
    const usable = neighbours.filter((one) => one.matches('button:enabled, a[href]'));
    const at = neighbours.indexOf(lost);
    const before = usable.findLast((one) => neighbours.indexOf(one) < at);
    const nearest = before ?? usable[0];
    if (nearest instanceof HTMLElement) return nearest;
  }
  const around = path
    .find((one) => one !== lost && one.isConnected)
    ?.closest<HTMLElement>('[tabindex], dialog[open]');
  const isInside = around !== null && around !== undefined && around !== main;
  return isInside ? around : main.querySelector<HTMLElement>('h1');
}
