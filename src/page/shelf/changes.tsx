import type { JSX } from 'preact';
import type { WebNoteChange } from '../../api/api.ts';
import { Link } from '../route/link.tsx';
import { momentOf, wholeTimeOf } from '../../present/times.ts';

const DONE: Record<WebNoteChange['what'], string> = {
  added: 'wrote',
  replaced: 'wrote anew',
  forgot: 'took out of force',
  restored: 'brought back',
  aliased: 'added words to',
};

/** Changes of notes, a row each. */
export function Changes({
  changes,
  here,
}: {
  changes: readonly WebNoteChange[];
  /** The note that is shown anyway. */
  here?: string;
}): JSX.Element {
  return (
    <ol class="plain hits changes">
      {changes.map(({ file, at, by, what, subject, superseded_by: next, same_name: isSame }) => (
        <li key={file}>
          <time class="dim" dateTime={at} title={wholeTimeOf(at)}>
            {momentOf(at)}
          </time>{' '}
          <bdi class="who">{by}</bdi> {DONE[what]}{' '}
          {file === here ? (
            <bdi>{subject}, this one</bdi>
          ) : (
            <Link to={{ view: 'note', file }}>
              <bdi>{subject}</bdi>
            </Link>
          )}
          {isSame && next !== null && (
            <>
              {' '}
              <span class="dim">not in force: </span>
              <Link to={{ view: 'note', file: next }}>another one has the same name</Link>
            </>
          )}
        </li>
      ))}
    </ol>
  );
}
