import { JOINED, wordsIn } from '../../protocol/text/apart.ts';

/** Returns the query for words that are being typed: the last one may be incomplete. */
export function queryOf(words: string): string {
  const trimmed = words.trimStart();
  const isOpen = /[\p{L}\p{N}]$/u.test(trimmed);
  const inPhrase = (trimmed.match(/"/g) ?? []).length % 2 === 1;
  if (inPhrase) return `${trimmed.trimEnd()}"`;
  return isOpen ? `${trimmed}*` : trimmed.trimEnd();
}

const BEGINS_JOINED = new RegExp(`^${JOINED}`, 'u');

/** Splits a text so that words which begin with one of the searched words are separate parts. */
export function highlighted(text: string, words: string): { text: string; hit: boolean }[] {
  const typed = words.match(/[\p{L}\p{N}]+/gu) ?? [];
  const wanted = [...typed, ...typed.flatMap(wordsIn)].map((word) =>
    BEGINS_JOINED.test(word) ? `(?<!${JOINED})${word}` : word,
  );
  if (wanted.length === 0) return [{ text, hit: false }];
  const pattern = new RegExp(wanted.join('|'), 'giu');
  const parts: { text: string; hit: boolean }[] = [];
  let from = 0;
  for (const { index, 0: found } of text.matchAll(pattern)) {
    if (index > from) parts.push({ text: text.slice(from, index), hit: false });
    parts.push({ text: found, hit: true });
    from = index + found.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), hit: false });
  return parts;
}
