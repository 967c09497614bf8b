import type { Counts } from '../../index/index.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex, type IndexOptions } from '../index/indexing.ts';

/**
 * The contents of a transport, counted at one commit: the messages of each channel and malformed
 * files.
 */
export interface Census extends Counts {
  tip: string;
}

/**
 * Counts messages and malformed files; reads only files added since the last count.
 *
 * @param options with `patience`, older messages may not be counted yet
 */
export async function takeCensus(context: Context, options: IndexOptions = {}): Promise<Census> {
  const tip = await tipOf(context);
  return withIndex(context, options, (index) => ({ tip, ...index.counts() }));
}
