import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useModel } from '../live/use-live.ts';
import { unservedAmong } from './recipients.ts';

/** Milliseconds after which a name counts as typed to its end. */
const RESTED_MS = 600;
/** The most recipients that are named. */
const NAMED = 3;

interface Props {
  /** The recipients as typed. */
  to: string;
  /** Notice that is shown beside it and not repeated. */
  said: string;
}

/** Warning before a message is sent that nobody serves a recipient, so that the message would wait. */
export function Unserved({ to, said }: Props): JSX.Element | null {
  const { now } = useModel();
  const rested = useRested(to);
  const notes = now === undefined ? [] : unservedAmong(rested, now);
  const fresh = notes.filter((note) => !said.includes(note));
  const more = fresh.length - NAMED;
  return (
    <div class="unserved wait" role="status">
      {fresh.slice(0, NAMED).map((note) => (
        <p key={note}>
          <span aria-hidden="true">◔ </span>
          {note.charAt(0).toUpperCase() + note.slice(1)}.
        </p>
      ))}
      {more > 0 && <p>The same is true of {more} more.</p>}
    </div>
  );
}

/** Returns a text once it has not changed for a moment; at the beginning, at once. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      setRested(text);
    }, RESTED_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return rested;
}
