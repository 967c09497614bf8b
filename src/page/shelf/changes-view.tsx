import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { WebNoteLog } from '../../api/api.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Loading, Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';
import { Changes } from './changes.tsx';
import { useShelf } from './use-shelf.ts';

/** The number of changes that are shown at first, and at most. */
const FIRST = 50;
const MOST = 1000;

/** View of who changed the notes, newest first. */
export function ChangesView(): JSX.Element {
  const [limit, setLimit] = useState(FIRST);
  const { value, problem } = useShelf<WebNoteLog>('memory-log', { limit });
  // The shorter list stays until the longer one is there.
  const last = useRef<WebNoteLog | undefined>(undefined);
  last.current = value ?? last.current;
  const log = last.current;
  return (
    <View title="Changes of the notes" class="shelf" beside={<ShelfLinks />}>
      <p>
        <Link to={{ view: 'notes' }}>The notes in force</Link>
      </p>
      <Problem words={problem} />
      <Loading of={{ value: log, problem }} />
      {log?.changes.length === 0 && <p>Nobody has written a note yet.</p>}
      {log !== undefined && <Changes changes={log.changes} />}
      {log !== undefined && log.more > 0 && (
        <p class="dim">
          {log.more.toLocaleString()} older ones are not shown.{' '}
          {limit < MOST && (
            <button
              type="button"
              onClick={() => {
                setLimit(Math.min(MOST, 4 * limit));
              }}
            >
              Show more
            </button>
          )}
        </p>
      )}
    </View>
  );
}
