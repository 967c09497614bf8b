import type { Channel } from '../files/channel.ts';
import { shown } from '../text/result.ts';

/** Finds the channel with an id or a name, or returns the reason why there is not exactly one. */
export function channelNamed(
  channels: readonly Channel[],
  wanted: string,
): { id: string } | { problem: string } {
  const [only, ...more] = channels.filter(({ id, name }) => id === wanted || name === wanted);
  if (only === undefined) return { problem: `there is no channel ${shown(wanted)}` };
  return more.length === 0 ? only : { problem: `several channels are called ${shown(wanted)}` };
}
