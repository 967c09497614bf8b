import { distance } from 'fastest-levenshtein';
import { escapeInvisible } from './quoted.ts';

/** Fewest differences that are tolerated: two swapped letters are two differences, in a short word as well. */
const LEAST = 2;
const MOST = 3;

/** Returns the known word that was probably meant by a misspelt one; undefined if none is near. */
function nearest(word: string, known: Iterable<string>): string | undefined {
  const most = word.length < 3 ? 1 : Math.min(MOST, Math.max(LEAST, Math.floor(word.length / 3)));
  let found: string | undefined;
  let least = most + 1;
  for (const one of known) {
    const far = distance(word.toLowerCase(), one.toLowerCase());
    if (one !== word && far < least) [found, least] = [one, far];
  }
  return found;
}

/** Returns `; did you mean <word>?`, or nothing if no known word is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? '' : `; did you mean ${escapeInvisible(meant)}?`;
}

/** Returns a warning that a name differs from a known one only in upper and lower case; undefined if none does. */
export function sameButCase(name: string, known: Iterable<string>): string | undefined {
  const low = name.toLowerCase();
  for (const one of known)
    if (one !== name && one.toLowerCase() === low)
      return `${escapeInvisible(name)} and ${escapeInvisible(one)} differ in upper and lower case alone, and are two names: mail for one is not for the other`;
  return undefined;
}
