import type { Candidate, CompletionPlan } from './values.ts';

/** Names and descriptions may not contain characters that a terminal or a script would act on. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
const MAX_DESCRIPTION = 60;

/**
 * Returns the candidates that fit the typed text, each as the whole last word. Candidates that are not printable on
 * one line are left out, because names come from files that anybody may have written.
 */
export function matching(
  { before, typed, taken }: CompletionPlan,
  candidates: readonly Candidate[],
): Candidate[] {
  const seen = new Set(taken);
  return candidates.flatMap(({ value, description }) => {
    if (value === '' || UNPRINTABLE.test(value) || !value.startsWith(typed) || seen.has(value))
      return [];
    seen.add(value);
    return [{ value: before + value, description: short(description) }];
  });
}

function short(text: string): string {
  const flat = text.replace(new RegExp(UNPRINTABLE, 'gu'), ' ').replace(/\s+/g, ' ').trim();
  const letters = Array.from(flat);
  return letters.length > MAX_DESCRIPTION
    ? `${letters.slice(0, MAX_DESCRIPTION - 1).join('')}…`
    : flat;
}

type Quote = '' | '"' | "'";

/**
 * Parses a word as it was typed in bash: removes its quotes and backslashes, and reports which
 * quote is still open. Nothing in it is expanded.
 */
export function unquoted(word: string): { text: string; open: Quote } {
  let text = '';
  let open: Quote = '';
  for (let at = 0; at < word.length; at++) {
    const letter = word.charAt(at);
    const next = word.charAt(at + 1);
    if (letter === '\\' && open !== "'" && (open === '' || /["$`\\]/.test(next))) {
      text += next;
      at++;
    } else if (letter === open) open = '';
    else if (open === '' && (letter === '"' || letter === "'")) open = letter;
    else text += letter;
  }
  return { text, open };
}

/** Quotes a value for bash, inside a quote that is already open, or outside of any quote. */
export function bashQuoted(value: string, open: Quote): string {
  if (open === "'") return value.replaceAll("'", String.raw`'\''`);
  if (open === '"') return value.replace(/["$`\\!]/g, String.raw`\$&`);
  return value.replace(/[^\p{L}\p{N}_./:=@,+%-]/gu, String.raw`\$&`);
}
