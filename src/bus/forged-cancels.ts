import type { Located } from '../protocol/message.ts';
import { placeOfRef } from '../protocol/reference.ts';
import type { Verifier } from './verifier.ts';

/**
 * Messages without the cancellations in a pinned name that their writer has not signed, or of which nobody can say so
 * now: they end nothing. What an actor takes back says its host, and is not signed.
 *
 * @param found named as they are seen from the channel `from`
 * @throws CrosstalkError `invalid` when the pinned keys cannot be read
 */
export async function withoutForgedCancels<T extends Located>(
  verifier: Pick<Verifier, 'verdicts'>,
  { tip, from }: { tip: string; from: string },
  found: readonly T[],
): Promise<readonly T[]> {
  const cancels = found.filter(
    ({ message }) => message.cancels !== undefined && message.host === undefined,
  );
  const claims = cancels.map(({ relPath, message }) => ({ ...placeOfRef(from, relPath), message }));
  const verdicts = await verifier.verdicts(tip, claims);
  const forged = new Set(cancels.filter((_, at) => verdicts[at] === false));
  return forged.size === 0 ? found : found.filter((one) => !forged.has(one));
}
