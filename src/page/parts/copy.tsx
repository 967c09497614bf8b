import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

/** Button that puts a command into the clipboard, and shows whether it did. */
export function Copy({ text }: { text: string }): JSX.Element {
  const [said, setSaid] = useState('Copy');
  const copy = async (): Promise<void> => {
    try {
      // There is no clipboard where the page is not from this machine and not encrypted.
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('Select it to copy it');
    }
  };
  return (
    <>
      <button
        type="button"
        aria-label={`Copy ${text}`}
        onClick={() => {
          void copy();
        }}
      >
        {said}
      </button>
      <span class="aside" role="status">
        {said === 'Copy' ? '' : said}
      </span>
    </>
  );
}
