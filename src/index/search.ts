import { number, text, type Database } from '../store/sqlite.ts';
import { columnsOf, relPathIn } from './keys.ts';
import { apart, wordsIn } from '../protocol/text/apart.ts';
import { withoutTrailing } from '../protocol/text/quoted.ts';

export interface Query {
  /** Words, `"phrases"` and `beginnings*`, in any order; a message has to contain all of them. */
  words: string;
  /** The channel's uuid. */
  channel?: string | undefined;
  from?: string | undefined;
  /** Only messages since this relPath, or since this day `YYYY/MM/DD`. */
  since?: string | undefined;
  limit: number;
  /** Number of best hits that are left out, because they were shown before; 0 by default. */
  skip?: number | undefined;
}

export interface Hit {
  channel: string;
  relPath: string;
  /** A larger score is better; scores are comparable within one search only. */
  score: number;
}

export interface Hits {
  hits: Hit[];
  /** Whether no message has all the words, so that these have only some of them. */
  some: boolean;
  /** Whether more messages matched than were ranked, in which case the newest were ranked. */
  capped: boolean;
}

/** Most matches that are ranked, the newest, so that a word in every message costs no more. */
const MAX_RANKED = 5000;

/** Weight of a word in each column of `texts`: body, opening, channel, tags. */
const WEIGHTS = '1.0, 4.0, 3.0, 0.0';

/**
 * Finds messages by their words, best first, ranked by BM25. The opening line of a task and the
 * name of a channel count more than other text.
 */
export function searchIndex(database: Database, query: Query): Hits {
  const [typed, parts] = [termsOf(query.words), partsOf(query.words)];
  const tags = tagsOf(database, query);
  const none = { hits: [], some: false, capped: false };
  if (typed.length === 0 || tags === undefined) return none;
  const find = (terms: readonly string[], how: 'AND' | 'OR'): Omit<Hits, 'some'> => {
    const looked = terms.map((term) => expanded(database, term, terms.length === 1));
    return ranked(database, looked.join(` ${how} `), tags, query);
  };
  const all = find(typed, 'AND');
  if (all.hits.length > 0 || parts.length === 1) return { ...all, some: false };
  // A word typed without spaces may be several words of a question, which are separate in the answer.
  const apart = parts.length > typed.length ? find(parts, 'AND') : all;
  if (apart.hits.length > 0) return { ...apart, some: false };
  const any = find(parts, 'OR');
  return { ...any, some: any.hits.length > 0 };
}

function ranked(
  database: Database,
  match: string,
  tags: string,
  { since = '', limit, skip = 0 }: Query,
): { hits: Hit[]; capped: boolean } {
  const found = database.all(
    `SELECT rowid AS id, bm25(texts, ${WEIGHTS}) AS score FROM texts
     WHERE texts MATCH ? AND rowid >= ? ORDER BY rowid DESC LIMIT ?`,
    `${tags}{body opening channel} : (${match})`,
    since === '' ? 0 : firstSince(database, since),
    MAX_RANKED + 1,
  );
  const best = found
    .slice(0, MAX_RANKED)
    .sort((a, b) => number(a, 'score') - number(b, 'score') || number(b, 'id') - number(a, 'id'));
  const hits: Hit[] = [];
  let left = skip;
  for (const row of best) {
    if (hits.length === limit) break;
    const place = database.get(
      'SELECT c.uuid, m.* FROM messages m JOIN channels c ON c.id = m.channel WHERE m.id = ?',
      number(row, 'id'),
    );
    if (place === undefined) continue;
    const relPath = relPathIn(place);
    if (relPath < since) continue;
    if (left > 0) left--;
    else hits.push({ channel: text(place, 'uuid'), relPath, score: -number(row, 'score') });
  }
  return { hits, capped: found.length > MAX_RANKED };
}

/** Most messages that are assumed to be out of order: messages arrive nearly in the order of their dates. */
const LATECOMERS = 1000;

/** Returns an id below which there is hardly a message written since then. */
function firstSince(database: Database, since: string): number {
  const { day, clock } = columnsOf(since);
  const row = database.get(
    'SELECT id FROM messages WHERE (day, clock) >= (?, ?) ORDER BY day, clock LIMIT 1',
    day,
    clock,
  );
  return row === undefined ? Number.MAX_SAFE_INTEGER : number(row, 'id') - LATECOMERS;
}

/** Returns the filters as a part of the query; undefined when nothing can match them. */
function tagsOf(database: Database, { channel, from }: Query): string | undefined {
  const id = (sql: string, value: string): number => number(database.get(sql, value) ?? {}, 'id');
  const tags: string[] = [];
  if (channel !== undefined) {
    const found = id('SELECT id FROM channels WHERE uuid = ?', channel);
    if (found === 0) return undefined;
    tags.push(`c${String(found)}`);
  }
  if (from !== undefined) {
    const found = id('SELECT id FROM names WHERE name = ?', from);
    if (found === 0) return undefined;
    tags.push(`s${String(found)}`);
  }
  return tags.map((tag) => `tags : ${tag} AND `).join('');
}

/** Most words that a beginning is expanded to. */
const MAX_WORDS = 64;
const BEGINNING = /^"([\p{L}\p{N}]+)"\*$/u;

/**
 * Expands a beginning into one term of its words: FTS5 merges the lists of all words with a
 * beginning before it looks at one message, but processes a choice of words message by message.
 *
 * @param alone whether the query has no other terms: then the most frequent words suffice, because
 *   only the newest of their messages are ranked anyway
 */
function expanded(database: Database, term: string, alone: boolean): string {
  const typed = BEGINNING.exec(term)?.[1];
  if (typed === undefined) return term;
  const beginning = typed.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  database.run('CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, texts, row)');
  const words = database.all(
    'SELECT term FROM temp.words WHERE term >= ? AND term < ? ORDER BY doc DESC LIMIT ?',
    beginning,
    `${beginning}\u{10ffff}`,
    MAX_WORDS + 1,
  );
  if (words.length === 0 || (words.length > MAX_WORDS && !alone)) return term;
  return `(${words.map((row) => `"${text(row, 'term')}"`).join(' OR ')})`;
}

/** A phrase in quotes, or a word; with a star after it, the beginning of a word. */
const TERM = /"([^"]*)"(\*?)|([^\s"]+)/gu;
const HAS_WORD = /[\p{L}\p{N}\p{Co}]/u;

/** Most terms of a query, and characters of a term. */
const [MAX_TERMS, MAX_TERM] = [32, 256];

/**
 * Returns the terms that somebody typed, quoted so that none of them acts as an operator.
 *
 * @returns at most 32 terms; those without a letter or digit are left out, as nothing could match them
 */
export function termsOf(words: string): string[] {
  return typedIn(words).map(quoted);
}

/**
 * Returns the terms as {@link termsOf} does, but one for each of the words that were typed without spaces
 * between them; see {@link wordsIn}.
 */
export function partsOf(words: string): string[] {
  return typedIn(words)
    .flatMap((typed) => {
      const parts = typed.isPhrase ? [typed.text] : wordsIn(typed.text);
      const last = parts.length - 1;
      return parts.map((text, at) => quoted({ text, isPrefix: typed.isPrefix && at === last }));
    })
    .slice(0, MAX_TERMS);
}

interface Typed {
  text: string;
  isPhrase: boolean;
  isPrefix: boolean;
}

function typedIn(words: string): Typed[] {
  const found: Typed[] = [];
  for (const [, phrase, star, word = ''] of words.replaceAll('\0', ' ').matchAll(TERM)) {
    const isPrefix = phrase === undefined ? word.endsWith('*') : star === '*';
    const text = (phrase ?? withoutTrailing(word, /\*/)).slice(0, MAX_TERM);
    if (HAS_WORD.test(text)) found.push({ text, isPhrase: phrase !== undefined, isPrefix });
  }
  return found.slice(0, MAX_TERMS);
}

function quoted({ text, isPrefix }: Omit<Typed, 'isPhrase'>): string {
  return `"${apart(text).replaceAll('"', ' ')}"${isPrefix ? '*' : ''}`;
}

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
