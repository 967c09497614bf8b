import { number, text, type Database } from './database.ts';
import { columnsOf, relPathIn } from './keys.ts';
import { withoutTrailing } from '../protocol/text/trailing.ts';

export interface Query {
  /** Words, `"phrases"` and `beginnings*`, in any order; all of them are wanted. */
  words: string;
  /** The channel's uuid. */
  channel?: string | undefined;
  from?: string | undefined;
  /** Messages of this relPath, or day `YYYY/MM/DD`, or later. */
  since?: string | undefined;
  limit: number;
}

export interface Hit {
  channel: string;
  relPath: string;
  /** Larger is better; comparable within one search. */
  score: number;
}

export interface Hits {
  hits: Hit[];
  /** True when none had all the words, and these have some of them. */
  some: boolean;
  /** True when more matched than were ranked: the newest were. */
  capped: boolean;
}

/** Of more matches than this the newest are ranked, so that a word in every message costs no more. */
const MAX_RANKED = 5000;

/** How much a word counts in each column of `texts`: body, opening, channel, tags. */
const WEIGHTS = '1.0, 4.0, 3.0, 0.0';

/**
 * Finds messages by their words, best first (BM25; the opening line of a task and the name of a
 * channel count more).
 */
export function searchIndex(database: Database, query: Query): Hits {
  const typed = termsOf(query.words);
  const terms = typed.map((term) => expanded(database, term, typed.length === 1));
  const tags = tagsOf(database, query);
  const none = { hits: [], some: false, capped: false };
  if (terms.length === 0 || tags === undefined) return none;
  const all = ranked(database, terms.join(' AND '), tags, query);
  if (all.hits.length > 0 || terms.length === 1) return { ...all, some: false };
  const any = ranked(database, terms.join(' OR '), tags, query);
  return { ...any, some: any.hits.length > 0 };
}

/** Files of memories by their words, best first. */
export function searchNotes(database: Database, words: string, limit: number): string[] {
  const terms = termsOf(words);
  const find = (join: string): string[] =>
    database
      .all(
        `SELECT m.file AS file FROM notes JOIN memories m ON m.id = notes.rowid
         WHERE notes MATCH ? ORDER BY bm25(notes, 1.0, 4.0, 3.0), m.file DESC LIMIT ?`,
        terms.join(join),
        limit,
      )
      .map((row) => text(row, 'file'));
  if (terms.length === 0) return [];
  const all = find(' AND ');
  return all.length > 0 ? all : find(' OR ');
}

function ranked(
  database: Database,
  match: string,
  tags: string,
  { since = '', limit }: Query,
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
  for (const row of best) {
    if (hits.length === limit) break;
    const place = database.get(
      'SELECT c.uuid, m.* FROM messages m JOIN channels c ON c.id = m.channel WHERE m.id = ?',
      number(row, 'id'),
    );
    if (place === undefined) continue;
    const relPath = relPathIn(place);
    if (relPath >= since)
      hits.push({ channel: text(place, 'uuid'), relPath, score: -number(row, 'score') });
  }
  return { hits, capped: found.length > MAX_RANKED };
}

/** Messages arrive nearly as they are dated; so many may come before the first of a day. */
const LATECOMERS = 1000;

/** An id that hardly a message since then is below of. */
function firstSince(database: Database, since: string): number {
  const { day, clock } = columnsOf(since);
  const row = database.get(
    'SELECT id FROM messages WHERE (day, clock) >= (?, ?) ORDER BY day, clock LIMIT 1',
    day,
    clock,
  );
  return row === undefined ? Number.MAX_SAFE_INTEGER : number(row, 'id') - LATECOMERS;
}

/** The filters as a part of the match; undefined when nothing can match them. */
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

/** A beginning that so many words have at most is looked up as these words. */
const MAX_WORDS = 64;
const BEGINNING = /^"([\p{L}\p{N}]+)"\*$/u;

/**
 * The words that a beginning stands for, as one term: FTS5 merges the lists of all words with a
 * beginning before it looks at one message, but takes a choice of words message by message.
 *
 * @param alone whether it is all that is looked for: then the most frequent words are enough, of whose
 *   messages the newest are ranked anyway
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

/** A phrase in quotes, or a word; with a star behind it, the beginning of one. */
const TERM = /"([^"]*)"(\*?)|([^\s"]+)/gu;
const HAS_WORD = /[\p{L}\p{N}\p{Co}]/u;

/**
 * The terms of what somebody typed, quoted so that none of it is an operator.
 *
 * @returns at most 32; what holds no letter or digit is left out, as nothing could match it
 */
export function termsOf(words: string): string[] {
  const terms: string[] = [];
  for (const [, phrase, star, word = ''] of words.replaceAll('\0', ' ').matchAll(TERM)) {
    const isPrefix = phrase === undefined ? word.endsWith('*') : star === '*';
    const plain = phrase ?? withoutTrailing(word, /\*/);
    if (HAS_WORD.test(plain)) terms.push(`"${plain}"${isPrefix ? '*' : ''}`);
  }
  return terms.slice(0, 32);
}
