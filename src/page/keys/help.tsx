import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { BINDINGS } from './keymap.ts';

const NAMES: Record<string, string> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
};
const PARTS = [
  { where: undefined, title: 'Everywhere' },
  { where: 'inbox', title: 'In the inbox' },
  { where: 'messages', title: 'In a conversation' },
  { where: 'flow', title: 'In Flow' },
] as const;

/** Help on the keys. */
export function Help({ open, onClose }: { open: boolean; onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    if (open && !element.open) element.showModal();
    if (!open && element.open) element.close();
  }, [open]);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <header>
        <h2 id="help-title">Keys</h2>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </header>
      {PARTS.map(({ where, title }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {BINDINGS.filter((binding) => binding.where === where).map(({ keys, does }) => (
              <>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{NAMES[key] ?? key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </>
            ))}
          </dl>
        </section>
      ))}
    </dialog>
  );
}
