import { messageKey } from '../../protocol/layout.ts';
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { WebSearch } from '../../api/api.ts';
import { get } from '../live/api.ts';
import { useLoaded, useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import { keepPlace, placeOf } from '../route/places.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Problem, View } from '../parts/view.tsx';
import { Verified } from '../parts/speaker.tsx';
import { plainOf } from '../text/plain.ts';
import { highlighted, queryOf } from '../text/query.ts';
import { clockOf, dayOf } from '../../present/times.ts';

/** Milliseconds after the last key before the search starts. */
const PAUSE_MS = 120;
/** The number of results that are requested at a time, and how many times. */
const PAGE = 20;
const MOST_PAGES = 10;

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
  // Going back shows the previous search; typing changes the words, but not the entry.
  const what = `${channel ?? ''} ${words}`;
  const [asked, setAsked] = useState(() => ({ what, pages: placeOf(entry).hits ?? 1 }));
  const shownEntry = useRef(entry);
  if (shownEntry.current !== entry) {
    shownEntry.current = entry;
    setTyped(words);
    setAsked({ what, pages: placeOf(entry).hits ?? 1 });
  }
  const pages = asked.what === what ? asked.pages : 1;
  useEffect(() => {
    keepPlace(entry, { hits: pages });
  }, [pages, entry]);
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
    `${what} ${String(pages)}`,
    (signal) =>
      queryOf(words) === ''
        ? Promise.resolve(null)
        : searched(queryOf(words), channel, pages, signal),
  );
  const shown = useRef<WebSearch | null>(null);
  // Earlier results stay until there are new ones.
  if (found !== undefined) shown.current = found;
  const results = shown.current;
  const mayHaveMore = results?.more === true;

  // The button moves down, or vanishes: the first of the new results gets the focus.
  const list = useRef<HTMLOListElement>(null);
  const before = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (before.current === undefined || found === undefined) return;
    list.current?.children[before.current]?.querySelector('a')?.focus();
    before.current = undefined;
  }, [found]);
  const showMore = (): void => {
    before.current = results?.hits.length;
    setAsked({ what, pages: pages + 1 });
  };
  return (
    <View title="Search" class="search" beside={<ShelfLinks />}>
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
        {results === null ? ' ' : summary(results, mayHaveMore ? 'best' : 'all')}
      </p>
      <Problem words={problem} />
      <ol class="plain hits" ref={list}>
        {results?.hits.map((hit) => (
          <li key={messageKey(hit)}>
            <Link to={{ view: 'message', channel: hit.channel, relPath: hit.relPath }}>
              <bdi class="who">{hit.from}</bdi> to <bdi>{hit.to.join(', ')}</bdi>
            </Link>
            <Verified verified={hit.verified} />{' '}
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
      {mayHaveMore && (
        <p class="dim">
          {pages < MOST_PAGES ? (
            <button type="button" onClick={showMore}>
              Show more
            </button>
          ) : (
            'More messages have these words: another word leaves fewer.'
          )}
        </p>
      )}
    </View>
  );
}

/** Returns the first pages of the results as one, without those that moved from one page to the next. */
async function searched(
  q: string,
  channel: string | undefined,
  pages: number,
  signal: AbortSignal,
): Promise<WebSearch> {
  const asked = Array.from({ length: pages }, (_, page) =>
    get<WebSearch>('search', { q, channel, limit: PAGE, skip: page * PAGE }, signal),
  );
  const [first, ...others] = await Promise.all(asked);
  if (first === undefined) throw new RangeError('a search has at least one page');
  const hits = new Map(
    [first, ...others].flatMap((page) => page.hits.map((hit) => [messageKey(hit), hit])),
  );
  return { ...first, hits: [...hits.values()], more: [first, ...others].at(-1)?.more === true };
}

function summary(
  { hits, some_words: some, capped, complete }: WebSearch,
  which: 'best' | 'all',
): string {
  const many = which === 'best' || capped ? `the best ${String(hits.length)}` : String(hits.length);
  const parts = [hits.length === 0 ? 'Nothing found' : `Found ${many}`];
  if (some) parts.push('no message has all the words, these have some');
  if (!complete) parts.push('older messages are still being indexed');
  return `${parts.join('; ')}.`;
}
