import type { WebMessage } from '../../api/api.ts';
import { parseAddress } from '../../protocol/address.ts';
import type { Context } from '../context.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { noteSeen, type ShownMessage } from '../lookup/seen.ts';

/**
 * Puts on record that the sender of the session was shown messages, of which those count that are whole. A window in
 * which nobody can write is for others to look at.
 */
export async function noteShown(
  { context, login, readOnly }: { context: Context; login: string; readOnly: boolean },
  messages: readonly WebMessage[],
): Promise<void> {
  if (readOnly) return;
  const whole = messages.filter((one) => !one.body_cut && !one.queued);
  await noteSeen(context, resolveFrom(context, undefined, login), whole.map(shownOf));
}

function shownOf({ channel, relPath, from, to }: WebMessage): ShownMessage {
  const addresses = to.flatMap((text) => {
    const address = parseAddress(text);
    return address.ok ? [address.value] : [];
  });
  return { channel, relPath, message: { from, to: addresses } };
}
