import { number, text, type Database } from '../store/sqlite.ts';
import { partsOf } from './search.ts';

/**
 * Words that say nothing about the subject of a search, as long as there are others: the usual list for
 * English, and modal verbs.
 */
const FUNCTION_WORDS = new Set(
  `a about above after again against all am an and any are as at be because been before being below between both but by
  can could did do does doing down during each few for from further had has have having he her here hers him his how i if
  in into is it its just may me might more most must my no nor not now of off on once only or other our ours out over own
  same shall she should so some such than that the their theirs them then there these they this those through to too under
  until up us very was we were what when where which while who whom whose why will with would you your yours`.split(
    /\s+/,
  ),
);

/** Power of the share of the terms that a note contains: terms found together count more than their sum. */
const TOGETHER = 3;

/**
 * Finds files of memories by their words, each with its score, in no order: a larger one is better, and none is
 * negative; scores are comparable within one search only. A note need not have all the words. A note of a thousand
 * words does not rank before a short one merely because it has them: BM25 counts a word less in a longer text.
 */
export function searchNotes(database: Database, words: string): Map<string, number> {
  const terms = telling(partsOf(words));
  const found = new Map<number, { score: number; terms: number }>();
  for (const term of terms)
    for (const row of database.all(
      'SELECT rowid AS id, bm25(notes, 1.0, 3.0, 3.0) AS score FROM notes WHERE notes MATCH ?',
      term,
    )) {
      const id = number(row, 'id');
      const known = found.get(id) ?? { score: 0, terms: 0 };
      found.set(id, {
        score: known.score + Math.max(0, -number(row, 'score')),
        terms: known.terms + 1,
      });
    }
  if (found.size === 0) return new Map();
  const files = new Map<string, number>();
  for (const row of database.all('SELECT id, file FROM memories')) {
    const one = found.get(number(row, 'id'));
    if (one === undefined) continue;
    files.set(text(row, 'file'), one.score * (one.terms / terms.length) ** TOGETHER);
  }
  return files;
}

function telling(terms: readonly string[]): string[] {
  const unique = [...new Set(terms)];
  const some = unique.filter((term) => !FUNCTION_WORDS.has(term.slice(1, -1).toLowerCase()));
  return some.length > 0 ? some : unique;
}
