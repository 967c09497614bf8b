import { hasProfile } from '../../bus/peers.ts';
import { newestBy } from '../../index/nobody.ts';
import type { Address } from '../../protocol/address.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';

/** Milliseconds for the index, in the middle of a run. */
const PATIENCE_MS = 2000;

/**
 * Whether a name that no host serves is a person's: it is the one under which this machine's operator writes, or its
 * newest message was written by hand, as what an actor writes names its host.
 *
 * @returns `unknown` while the older messages are not indexed yet
 */
export async function isPerson(
  context: Context,
  { name, host }: Address,
): Promise<boolean | 'unknown'> {
  const tip = await tipOf(context);
  if (host !== undefined || (await hasProfile(context.transport, tip, name))) return false;
  if (name === context.transport.defaults.from) return true;
  return withIndex(context, { patience: PATIENCE_MS }, async (index, complete) => {
    const newest = newestBy(index, name);
    if (newest === undefined) return complete ? false : 'unknown';
    const { channel, relPath } = newest;
    const [found] = await context.reader.messages(tip, channel, [relPath]);
    return found !== undefined && found.message.host === undefined;
  });
}
