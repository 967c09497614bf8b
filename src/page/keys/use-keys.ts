import { useEffect, useRef } from 'preact/hooks';
import { press, type Action, type Binding, type Pressed } from './keymap.ts';

/**
 * Listens to the keyboard while the component is mounted. Keys typed into a field, and those with
 * Ctrl, Alt or Meta, are ignored; Escape leaves a field.
 *
 * @param act returns false if it has nothing to do; the key then has its usual effect
 */
export function useKeys(where: Binding['where'], act: (action: Action) => boolean): void {
  const latest = useRef(act);
  latest.current = act;
  const pressed = useRef<Pressed>({ keys: [], at: 0 });
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
      if (isTyping(event.target) && event.key !== 'Escape') return;
      const done = press(pressed.current, event.key, event.timeStamp, where);
      pressed.current = done.pressed;
      if (done.action === undefined || !latest.current(done.action)) return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => {
      removeEventListener('keydown', listen);
    };
  }, [where]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}
