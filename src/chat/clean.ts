import { colourless } from '../protocol/text/steering.ts';

/** Characters that show nothing, some of which terminals give a column; emoji need the joiners. */
const INVISIBLE = /(?![\u200c\u200d])\p{Cf}/gu;

/**
 * A text of somebody's as it may stand on the screen: nothing in it steers the terminal, is hidden,
 * or has another width than is counted here.
 */
export function clean(text: string): string {
  return colourless(text)
    .replace(INVISIBLE, '')
    .replace(/[\u2028\u2029]/g, ' ')
    .replaceAll('\t', '    ');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim();
}
