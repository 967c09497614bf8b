import { distance } from 'fastest-levenshtein';
import { escapeInvisible } from './quoted.ts';

/** Two letters that changed places are two differences, in a short word as well. */
const LEAST = 2;
const MOST = 3;

/** The word that was probably meant by a misspelt one; undefined where none is near. */
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

/** `; did you mean <word>?`, or nothing where no known word is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? '' : `; did you mean ${escapeInvisible(meant)}?`;
}

/** Says that a name differs from a known one in upper and lower case alone; undefined where none does. */
export function sameButCase(name: string, known: Iterable<string>): string | undefined {
  const low = name.toLowerCase();
  for (const one of known)
    if (one !== name && one.toLowerCase() === low)
      return `${escapeInvisible(name)} and ${escapeInvisible(one)} differ in upper and lower case alone, and are two names: mail for one is not for the other`;
  return undefined;
}
