import type { Counts } from '../../index/index.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex, type IndexOptions } from '../index/indexing.ts';

/** What a transport holds, counted at one commit: messages of each channel, malformed files. */
export interface Census extends Counts {
  tip: string;
}

/**
 * Counts messages and malformed files; only files added since the last time are read.
 *
 * @param options with `patience`, older messages may not be counted yet
 */
export async function takeCensus(context: Context, options: IndexOptions = {}): Promise<Census> {
  const tip = await tipOf(context);
  return withIndex(context, options, (index) => ({ tip, ...index.counts() }));
}
