import type { Counts } from '../index/index.ts';
import { tipOf, type Context } from './context.ts';
import { withIndex } from './indexing.ts';

/** What a transport holds, counted at one commit: messages of each channel, malformed files. */
export interface Census extends Counts {
  tip: string;
}

/** Counts messages and malformed files; only files added since the last time are read. */
export async function takeCensus(context: Context): Promise<Census> {
  const tip = await tipOf(context);
  return withIndex(context, {}, (index) => ({ tip, ...index.counts() }));
}
