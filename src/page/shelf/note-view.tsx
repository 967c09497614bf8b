import type { JSX } from 'preact';
import type { WebNoteWhole } from '../../api/api.ts';
import { isChannelId } from '../../protocol/layout.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Loading, Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';
import { Markdown } from '../text/markdown-view.tsx';
import { Changes } from './changes.tsx';
import { NoteChips, NoteOrigin } from './note-words.tsx';
import { useShelf } from './use-shelf.ts';

/** The most messages that are named of those that a note sums up. */
const MOST_COVERED = 20;

/** One note, with its changes. */
export function NoteView({ file }: { file: string }): JSX.Element {
  const { value: note, problem } = useShelf<WebNoteWhole>(`memories/${file}`);
  return (
    <View title={note?.subject ?? 'Note'} class="shelf" beside={<ShelfLinks />}>
      <Problem words={problem} />
      <Loading of={{ value: note, problem }} />
      {note !== undefined && <Note note={note} />}
    </View>
  );
}

function Note({ note }: { note: WebNoteWhole }): JSX.Element {
  const { file, scope, name, alias, superseded_by: next, body, covers, log } = note;
  return (
    <>
      <p>
        <NoteOrigin note={note} /> <NoteChips note={note} />
      </p>
      {next !== null && (
        <p>
          {note.state === 'forgotten' ? 'It was forgotten: ' : 'It was replaced: '}
          <Link to={{ view: 'note', file: next }}>see by what</Link>
        </p>
      )}
      <section aria-label="Text" class="card">
        <Markdown text={body} channel={isChannelId(scope) ? scope : undefined} />
      </section>
      {alias.length > 0 && (
        <p class="dim">
          also found under <bdi>{alias.join(', ')}</bdi>
        </p>
      )}
      <p class="dim">
        <code>{file}</code>
        {name !== null && (
          <>
            , written anew under the name <code>{name}</code>
          </>
        )}
      </p>
      <Covered covers={covers} />
      {log.length > 1 && (
        <section aria-label="What was done with it">
          <h2>What was done with it</h2>
          <Changes changes={log} here={file} />
          {note.log_more > 0 && <p class="dim">and {note.log_more.toLocaleString()} older ones</p>}
        </section>
      )}
    </>
  );
}

/** The messages that a note sums up. */
function Covered({ covers }: { covers: readonly string[] }): JSX.Element | null {
  if (covers.length === 0) return null;
  const more = covers.length - MOST_COVERED;
  return (
    <section aria-label="What it sums up">
      <h2>What it sums up</h2>
      <ul>
        {covers.slice(0, MOST_COVERED).map((place) => {
          const [channel = '', ...path] = place.split('/');
          const relPath = path.join('/');
          return (
            <li key={place} class="mono">
              <Link to={{ view: 'message', channel, relPath }}>{relPath}</Link>
            </li>
          );
        })}
      </ul>
      {more > 0 && <p class="dim">and {more.toLocaleString()} more messages</p>}
    </section>
  );
}
