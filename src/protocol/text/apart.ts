/** Scripts that put no space between words; and that of Korean, where particles follow a word without one. */
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

/** A character that may be such a letter, or another form of a letter; none below it is. */
const ANY = /[\u0e00-\uffff]/;
const EACH = new RegExp(`[${APART}]`, 'gu');
/**
 * Forms with an equivalent: a letter with a combining character, and forms that are as wide or as narrow as
 * the letters around them.
 */
const FORMS = new RegExp(
  String.raw`[${APART}][\p{M}\u1160-\u11ff\uff9e\uff9f]{1,8}|[\u3131-\u318e\u3200-\u33ff\uf900-\ufaff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]`,
  'gu',
);

/**
 * Separates each letter of a script without spaces as a word of its own, so that any part of a sentence is a
 * phrase of such words, and text beside it in other letters is a word. A text and the words searched in it
 * have to be treated alike.
 */
export function apart(text: string): string {
  if (!ANY.test(text)) return text;
  return text.replace(FORMS, (form) => form.normalize('NFKC')).replace(EACH, ' $& ');
}

/** Source of an expression for a letter or digit that forms one word with the next. */
export const JOINED = String.raw`(?![${APART}])[\p{L}\p{N}]`;

let segmenter: Intl.Segmenter | undefined;
/** Most characters of a text that is segmented into words: the time for it is quadratic. */
const MOST = 256;

/**
 * Segments the beginning of a text without spaces into the words of a dictionary; returns the text itself if
 * all of it is in other letters.
 */
export function wordsIn(text: string): string[] {
  if (!ANY.test(text) || text.search(EACH) < 0) return [text];
  segmenter ??= new Intl.Segmenter('en', { granularity: 'word' });
  const words = Array.from(segmenter.segment(text.slice(0, MOST)));
  return words.flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
}
