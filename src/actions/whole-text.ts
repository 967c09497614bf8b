import { CrosstalkError } from '../errors.ts';
import { escapeInvisible } from '../protocol/text/quoted.ts';
import type { Context } from './context.ts';

/**
 * Reads the text of a file at a commit that is to be rewritten, as a whole or in part; undefined if there
 * is none.
 *
 * @throws CrosstalkError `refused` for bytes that are not text: they would be damaged
 */
export async function wholeText(
  { reader }: Context,
  commit: string,
  path: string,
): Promise<string | undefined> {
  const text = await reader.text(commit, path);
  if (text !== undefined) assertWhole(text, path);
  return text;
}

/** @throws CrosstalkError `refused` for a text with a part that was not UTF-8 */
export function assertWhole(text: string, path: string): void {
  if (text.includes('\ufffd'))
    throw new CrosstalkError(
      'refused',
      `${escapeInvisible(path)} has bytes that are not UTF-8, or U+FFFD in their place, and a change would damage it; convert it in a clone of the transport first`,
    );
}
