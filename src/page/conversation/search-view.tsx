import { messageKey } from '../../protocol/message-ref.ts';
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { WebSearch } from '../../api/api.ts';
import { get } from '../live/api.ts';
import { useLoaded, useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import { Problem, View } from '../parts/view.tsx';
import { clockOf, dayOf } from '../text/time.ts';
import { plainOf } from '../text/plain.ts';
import { highlighted, queryOf } from './query.ts';

/** Milliseconds after the last key before the search starts. */
const PAUSE_MS = 120;
const MOST = 20;

/** Finds messages by their words while the words are typed. */
export function SearchView(props: { words: string; channel: string | undefined }): JSX.Element {
  const { words, channel } = props;
  const { go, entry } = useNavigation();
  const { channels } = useModel();
  const [typed, setTyped] = useState(words);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
  }, []);
  // Going back shows the previous search; what is typed changes the words, but not the entry.
  const shownEntry = useRef(entry);
  if (shownEntry.current !== entry) {
    shownEntry.current = entry;
    setTyped(words);
  }
  useEffect(() => {
    if (typed === words) return undefined;
    const timer = setTimeout(() => {
      go({ view: 'search', words: typed, ...(channel !== undefined && { channel }) }, 'replace');
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [typed, words]);

  const { value: found, problem } = useLoaded<WebSearch | null>(
    `${channel ?? ''} ${words}`,
    (signal) =>
      queryOf(words) === ''
        ? Promise.resolve(null)
        : get<WebSearch>('search', { q: queryOf(words), channel, limit: MOST }, signal),
  );
  const shown = useRef<WebSearch | null>(null);
  // Earlier results stay until there are new ones.
  if (found !== undefined) shown.current = found;
  const results = shown.current;
  return (
    <View title="Search" class="search">
      <form
        class="search-form"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <div>
          <label for={`${id}-words`}>Words, “phrases”, beginnings*</label>
          <input
            id={`${id}-words`}
            type="search"
            dir="auto"
            ref={field}
            value={typed}
            autocomplete="off"
            onInput={(event) => {
              setTyped(event.currentTarget.value);
            }}
          />
        </div>
        <div>
          <label for={`${id}-channel`}>Channel</label>
          <select
            id={`${id}-channel`}
            value={channel ?? ''}
            onChange={(event) => {
              const chosen = event.currentTarget.value;
              go(
                { view: 'search', words: typed, ...(chosen !== '' && { channel: chosen }) },
                'replace',
              );
            }}
          >
            <option value="">all of them</option>
            {channels?.map(({ id: each, name }) => (
              <option key={each} value={each}>
                {name}
              </option>
            ))}
          </select>
        </div>
      </form>
      <p role="status" class="dim found">
        {results === null ? ' ' : summary(results)}
      </p>
      <Problem words={problem} />
      <ol class="plain hits">
        {results?.hits.map((hit) => (
          <li key={messageKey(hit)}>
            <Link to={{ view: 'message', channel: hit.channel, relPath: hit.relPath }}>
              <bdi class="who">{hit.from}</bdi> to <bdi>{hit.to.join(', ')}</bdi>
            </Link>{' '}
            <span class="dim">
              in <bdi>{hit.channel_name}</bdi>, {dayOf(hit.timestamp)} {clockOf(hit.timestamp)}
            </span>
            <p class="excerpt" dir="auto">
              {highlighted(plainOf(hit.excerpt), words).map(({ text, hit: found_ }) =>
                found_ ? <mark>{text}</mark> : text,
              )}
            </p>
          </li>
        ))}
      </ol>
    </View>
  );
}

function summary({ hits, some_words: some, capped, complete }: WebSearch): string {
  const many =
    hits.length >= MOST || capped ? `the best ${String(hits.length)}` : String(hits.length);
  const parts = [hits.length === 0 ? 'Nothing found' : `Found ${many}`];
  if (some) parts.push('no message has all the words, these have some');
  if (!complete) parts.push('older messages are still being indexed');
  return `${parts.join('; ')}.`;
}
