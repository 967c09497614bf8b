import { wordsIn } from './apart.ts';

/** A part of a text, cut at the ends of words, with `…` where something was left out. */
export interface Excerpt {
  text: string;
  cut: boolean;
}

const MARK = '…';
/** Share of the room that is used for text before the first word searched for. */
const LEAD = 0.25;
/** Most words that are searched for. */
const MOST_WORDS = 32;

/**
 * Returns the part of a text around the first of some words, at most `maxBytes` of UTF-8.
 *
 * @param words as they were searched for: case, accents, `"` and `*` are ignored
 */
export function excerptOf(text: string, words: string, maxBytes: number): Excerpt {
  const whole = text.trim();
  if (Buffer.byteLength(whole) <= maxBytes) return { text: whole, cut: false };
  const folded = fold(whole);
  const wanted = (fold(words).match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MOST_WORDS);
  const placesOf = (some: readonly string[]): number[] =>
    some.map((word) => folded.indexOf(word)).filter((at) => at >= 0);
  const typed = placesOf(wanted);
  const places = typed.length > 0 ? typed : placesOf(wanted.flatMap(wordsIn));
  const first = places.length === 0 ? 0 : Math.min(...places);
  const room = maxBytes - 2 * Buffer.byteLength(MARK);
  const start = wordStart(whole, Math.max(0, first - Math.floor(room * LEAD)));
  const part = whole.slice(start, start + room);
  let end = part.length;
  while (Buffer.byteLength(part.slice(0, end)) > room) end = Math.floor(end * 0.95) - 1;
  const cut = part.slice(0, Math.max(0, end));
  const more = start + cut.length < whole.length;
  const shown = more ? withoutHalfWord(cut) : cut;
  return { text: `${start > 0 ? MARK : ''}${shown.trim()}${more ? MARK : ''}`, cut: true };
}

/** Folds case and accents, but keeps the length, so that positions in the result are positions in the text. */
function fold(text: string): string {
  return Array.from(text, (character) => {
    const plain = character.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    return plain.length === character.length ? plain : character;
  }).join('');
}

function wordStart(text: string, from: number): number {
  if (from === 0) return 0;
  const blank = text.slice(from, from + 40).search(/\s/);
  const at = blank < 0 ? from : from + blank + 1;
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') ? at + 1 : at;
}

/** Most characters of a word that are left out, rather than cutting it. */
const LONGEST_WORD = 40;

/** Removes the word at the end of a cut text, as its rest is missing; a very long one is cut. */
export function withoutHalfWord(text: string): string {
  let end = text.length;
  while (end > text.length - LONGEST_WORD && /[\p{L}\p{M}\p{N}_]/u.test(text.charAt(end - 1)))
    end--;
  const whole = end > text.length - LONGEST_WORD ? text.slice(0, end) : text;
  return /[\uD800-\uDBFF]$/.test(whole) ? whole.slice(0, -1) : whole;
}
