import type { JSX } from 'preact';
import { useEffect, useRef, useState, useId } from 'preact/hooks';
import type { WebNotes } from '../../api/api.ts';
import { MEMORY_KINDS } from '../../protocol/files/memory-names.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Loading, Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import type { NotesAsked } from '../route/route.ts';
import { highlighted, queryOf } from '../text/query.ts';
import { plainOf } from '../text/plain.ts';
import { NoteChips, NoteOrigin, scopeWords } from './note-words.tsx';
import { useShelf } from './use-shelf.ts';

/** Milliseconds after the last key before the search starts. */
const PAUSE_MS = 150;
/** The number of notes on a page. */
const PAGE = 50;
const STATES = [
  ['', 'in force'],
  ['replaced', 'replaced'],
  ['forgotten', 'forgotten'],
  ['all', 'all of them'],
] as const;

/** The shared notes, to look through and to search. */
export function NotesView({ asked }: { asked: NotesAsked }): JSX.Element {
  const { words = '', scope, kind, state, skip = 0 } = asked;
  const { go, entry } = useNavigation();
  const { value, problem } = useShelf<WebNotes>('memories', {
    ...{ q: queryOf(words), scope, kind, state, skip, limit: PAGE },
  });
  const last = useRef<WebNotes | undefined>(undefined);
  // The earlier results stay until the next answer.
  last.current = value ?? last.current;
  const notes = last.current;
  const ask = (patch: NotesAsked, how: 'push' | 'replace' = 'replace'): void => {
    const all = { words, scope, kind, state, ...patch };
    const given = Object.entries(all).filter(([, one]) => one !== undefined && one !== '');
    go({ view: 'notes', ...(Object.fromEntries(given) as NotesAsked) }, how);
  };
  const [typed, setTyped] = useState(words);
  const shownEntry = useRef(entry);
  if (shownEntry.current !== entry) {
    shownEntry.current = entry;
    setTyped(words);
  }
  useEffect(() => {
    if (typed === words) return undefined;
    const timer = setTimeout(() => {
      ask({ words: typed });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [typed, words]);
  const isNone = notes !== undefined && countOf(notes) === 0 && notes.unreadable_total === 0;
  return (
    <View title="Notes" class="shelf" beside={<ShelfLinks />}>
      <Problem words={problem} />
      <Loading of={{ value: notes, problem }} />
      {isNone && (
        <p>
          Nobody has written a note yet. Actors and people write them with{' '}
          <code>crosstalk memory add</code>.
        </p>
      )}
      {notes !== undefined && !isNone && (
        <>
          <form
            class="notes-form"
            role="search"
            onSubmit={(event) => {
              event.preventDefault();
            }}
          >
            <Field label="Words, “phrases”, beginnings*" value={typed} onChange={setTyped} />
            <Choice
              label="State"
              value={state ?? ''}
              options={STATES}
              onChange={(chosen) => {
                ask({ state: chosen });
              }}
            />
            <Choice
              label="Kind"
              value={kind ?? ''}
              options={[['', 'every kind'], ...MEMORY_KINDS.map((one) => [one, one] as const)]}
              onChange={(chosen) => {
                ask({ kind: chosen });
              }}
            />
            <Choice
              label="For"
              value={scope ?? ''}
              options={[
                ['', 'anybody'],
                ...notes.scopes.map((one) => [one.scope, scopeWords(one)] as const),
              ]}
              onChange={(chosen) => {
                ask({ scope: chosen });
              }}
            />
          </form>
          <p role="status" class="dim found">
            {summary(notes, skip)}
          </p>
          <List notes={notes} words={words} />
          <Pages
            skip={skip}
            total={notes.total}
            turn={(to) => {
              ask({ ...(to > 0 && { skip: to }) }, 'push');
            }}
          />
          <p>
            <Link to={{ view: 'changes' }}>Who changed the notes</Link>
          </p>
          <Unreadable notes={notes} />
        </>
      )}
    </View>
  );
}

function countOf({ counts }: WebNotes): number {
  return counts.in_force + counts.replaced + counts.forgotten;
}

function summary({ total, memories, counts }: WebNotes, skip: number): string {
  const there = `${counts.in_force.toLocaleString()} in force, ${counts.replaced.toLocaleString()} replaced, ${counts.forgotten.toLocaleString()} forgotten`;
  if (total === 0) return `No note is like that; there are ${there}.`;
  const until = skip + memories.length;
  const shown =
    total === memories.length
      ? total.toLocaleString()
      : `${(skip + 1).toLocaleString()} to ${until.toLocaleString()} of ${total.toLocaleString()}`;
  return `${shown} shown (${there})`;
}

function List({ notes, words }: { notes: WebNotes; words: string }): JSX.Element {
  return (
    <ol class="plain hits">
      {notes.memories.map((note) => (
        <li key={note.file}>
          <p dir="auto">
            <Link to={{ view: 'note', file: note.file }}>
              <bdi>{note.subject}</bdi>
            </Link>{' '}
            <NoteChips note={note} />
          </p>
          <p>
            <NoteOrigin note={note} />
          </p>
          {note.excerpt !== '' && (
            <p class="excerpt" dir="auto">
              {highlighted(plainOf(note.excerpt), words).map(({ text, hit }) =>
                hit ? <mark>{text}</mark> : text,
              )}
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}

function Pages(props: {
  skip: number;
  total: number;
  turn: (skip: number) => void;
}): JSX.Element | null {
  const { skip, total, turn } = props;
  if (total <= PAGE && skip === 0) return null;
  return (
    <p class="pages">
      <button
        type="button"
        disabled={skip === 0}
        onClick={() => {
          turn(Math.max(0, skip - PAGE));
        }}
      >
        Before these
      </button>
      <button
        type="button"
        disabled={skip + PAGE >= total}
        onClick={() => {
          turn(skip + PAGE);
        }}
      >
        After these
      </button>
    </p>
  );
}

function Unreadable({ notes }: { notes: WebNotes }): JSX.Element | null {
  const { unreadable, unreadable_total: total } = notes;
  if (total === 0) return null;
  return (
    <details>
      <summary class="bad">
        {total === 1 ? '1 file cannot be read' : `${total.toLocaleString()} files cannot be read`}
      </summary>
      <ul>
        {unreadable.map(({ file, reason }) => (
          <li key={file}>
            <bdi class="mono">{file}</bdi>: <bdi>{reason}</bdi>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** A field for words to search for. */
function Field(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  const { label, value, onChange } = props;
  const id = useId();
  return (
    <div>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        dir="auto"
        autocomplete="off"
        value={value}
        onInput={({ currentTarget }) => {
          onChange(currentTarget.value);
        }}
      />
    </div>
  );
}

/** Choice among some values, each with its words. The value from the address is one of them in any case. */
function Choice(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, words: string])[];
  onChange: (value: string) => void;
}): JSX.Element {
  const { label, value, options, onChange } = props;
  const id = useId();
  const isKnown = options.some(([one]) => one === value);
  return (
    <div>
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => {
          onChange(currentTarget.value);
        }}
      >
        {options.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
        {!isKnown && <option value={value}>{value.slice(0, 100)}</option>}
      </select>
    </div>
  );
}
