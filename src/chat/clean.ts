import { colourless } from '../protocol/text/words.ts';

/**
 * Characters that show nothing, although some terminals give them a column; emoji need the joiners.
 */
const INVISIBLE = /(?![\u200c\u200d])\p{Cf}/gu;

/**
 * Makes a text that somebody else wrote safe for the screen: nothing in it can control the
 * terminal, is hidden, or has another width than the one computed here.
 */
export function clean(text: string): string {
  return harmless(text).replaceAll('\t', '    ');
}

/** Does the same as {@link clean}, but keeps tabs: for text that does not go to the screen. */
export function harmless(text: string): string {
  return colourless(text)
    .replace(INVISIBLE, '')
    .replace(/[\u2028\u2029]/g, ' ');
}

/** As {@link clean}, on one line. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim();
}
