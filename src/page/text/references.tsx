import type { ComponentChildren, JSX } from 'preact';
import { Link } from '../route/link.tsx';

const REL_PATH = /(\d{4}\/\d{2}\/\d{2}\/\d{9}Z-[0-9a-f]{8,64}\.md)/;

/** A text in which the paths of messages are links to them. */
export function References({ text, channel }: { text: string; channel: string }): JSX.Element {
  const parts = text.split(REL_PATH);
  if (parts.length === 1) return <>{text}</>;
  const shown = parts.map((part, at): ComponentChildren =>
    at % 2 === 0 ? part : <Link to={{ view: 'message', channel, relPath: part }}>{part}</Link>,
  );
  return <>{shown}</>;
}
