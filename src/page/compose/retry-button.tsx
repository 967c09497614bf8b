import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebDeadLetter, WebRetried } from '../../api/api.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { reasonInWords } from '../../protocol/text/words.ts';
import { releasedWords } from '../../present/holds.ts';
import { post, wordsOf } from '../live/api.ts';
import { useModel } from '../live/use-live.ts';

/** Gives a dead letter of this machine another round of attempts. */
export function RetryButton({ letter }: { letter: WebDeadLetter }): JSX.Element {
  const { id, actor, reason } = letter;
  const [said, setSaid] = useState('');
  const retry = (): void => {
    setSaid('Retrying…');
    post<WebRetried>(`dead-letters/${id}/retry`, {}).then(
      ({ released, woken }) => {
        setSaid(releasedWords(released.length, woken));
      },
      (error: unknown) => {
        setSaid(wordsOf(error));
      },
    );
  };
  return (
    <>
      <button
        type="button"
        data-act="reply"
        aria-label={`Retry ${actor}: ${reasonInWords(reason)}`}
        disabled={said === 'Retrying…'}
        onClick={retry}
      >
        Retry
      </button>
      <span class="dim" role="status">
        {said}
      </span>
    </>
  );
}

/** A button for each delivery of a message that failed on this machine. */
export function RetryButtons({ channel, relPath }: MessageRef): JSX.Element | null {
  const { session, now } = useModel();
  if (session?.read_only !== false) return null;
  const letters = now?.dead_letters.filter(
    (one) => one.channel === channel && one.messages.includes(relPath),
  );
  return (
    <>
      {letters?.map((letter) => (
        <RetryButton key={letter.id} letter={letter} />
      ))}
    </>
  );
}
