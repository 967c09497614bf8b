/**
 * Letters of scripts that put no space between words; and those of Korean, where particles follow a word without
 * one.
 */
const APART = [
  'Han',
  'Hira',
  'Kana',
  'Bopo',
  'Hang',
  'Yiii',
  'Thai',
  'Laoo',
  'Khmr',
  'Mymr',
  'Tibt',
]
  .concat('Java', 'Bali', 'Cham', 'Lana', 'Tale', 'Talu')
  .map((script) => String.raw`\p{scx=${script}}`)
  .join('');

/** No character below this one is such a letter, or another form of a letter. */
const ANY = /[\u0e00-\uffff]/;
const EACH = new RegExp(`[${APART}]`, 'gu');
/**
 * What can be written in two ways: a letter with what follows it as a character of its own, and forms that are as
 * wide or as narrow as the letters around them.
 */
const FORMS = new RegExp(
  String.raw`[${APART}][\p{M}\u1160-\u11ff\uff9e\uff9f]{1,8}|[\u3131-\u318e\u3200-\u33ff\uf900-\ufaff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]`,
  'gu',
);

/**
 * A text in which each letter of a script without spaces stands apart, as a word of its own, so that any part of a
 * sentence is a phrase of such words, and what is written beside it in other letters is a word. A text and what is
 * looked for in it have to be treated alike.
 */
export function apart(text: string): string {
  if (!ANY.test(text)) return text;
  return text.replace(FORMS, (form) => form.normalize('NFKC')).replace(EACH, ' $& ');
}

/** The source of an expression for a letter or digit that the next one would make one word with. */
export const JOINED = String.raw`(?![${APART}])[\p{L}\p{N}]`;

let segmenter: Intl.Segmenter | undefined;
/** The most characters of a text in which words are told apart: the time for it grows with the square. */
const MOST = 256;

/**
 * The words at the beginning of a text without spaces, as far as a dictionary knows them; the text itself where all of
 * it is in other letters.
 */
export function wordsIn(text: string): string[] {
  if (!ANY.test(text) || text.search(EACH) < 0) return [text];
  segmenter ??= new Intl.Segmenter('en', { granularity: 'word' });
  const words = Array.from(segmenter.segment(text.slice(0, MOST)));
  return words.flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
}
