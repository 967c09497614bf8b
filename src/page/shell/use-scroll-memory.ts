import { useLayoutEffect } from 'preact/hooks';
import { keepPlace, placeOf } from '../route/places.ts';

/** Events by which a reader scrolls. */
const INPUTS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

/** The scrolling of parts, and keys that parts use for themselves, are noticed too. */
const CAPTURE = { capture: true };

/**
 * Scrolls a view, and the labelled parts in it, to where they were when this entry of the history was left; a new
 * entry starts at its top. Parts that load later are waited for, until the reader does something. Conversations
 * remember the message that is read instead.
 */
export function useScrollMemory(box: { current: HTMLElement | null }, entry: string): void {
  useLayoutEffect(() => {
    const main = box.current;
    if (main === null) return undefined;
    const { top = 0, parts = {} } = placeOf(entry);
    const left = new Map<HTMLElement | string, number>([[main, top], ...Object.entries(parts)]);
    const restore = (): void => {
      for (const [which, wanted] of left) {
        const element = typeof which === 'string' ? partOf(main, which) : which;
        if (element === undefined) continue;
        element.scrollTop = wanted;
        if (Math.abs(element.scrollTop - wanted) < 2) left.delete(which);
      }
      if (left.size === 0) stop();
    };
    const loading = new MutationObserver(restore);
    const stop = (): void => {
      left.clear();
      loading.disconnect();
      for (const name of INPUTS) removeEventListener(name, stop, CAPTURE);
    };
    const scrolled = ({ target }: Event): void => {
      if (left.size > 0 || !(target instanceof HTMLElement)) return;
      const label = target.ariaLabel;
      if (target === main) keepPlace(entry, { top: main.scrollTop });
      else if (label !== null && target.role !== 'feed')
        keepPlace(entry, { parts: { ...placeOf(entry).parts, [label]: target.scrollTop } });
    };
    loading.observe(main, { childList: true, subtree: true });
    for (const name of INPUTS) addEventListener(name, stop, CAPTURE);
    main.addEventListener('scroll', scrolled, CAPTURE);
    restore();
    return () => {
      stop();
      main.removeEventListener('scroll', scrolled, CAPTURE);
    };
  }, [entry]);
}

function partOf(main: HTMLElement, label: string): HTMLElement | undefined {
  return [...main.querySelectorAll<HTMLElement>('[role=group]')].find(
    ({ ariaLabel }) => ariaLabel === label,
  );
}
