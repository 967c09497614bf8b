import { newestBy } from '../../index/nobody.ts';
import { ASKER } from '../../protocol/files/tier-gate.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';

/** Warns about somebody who is to decide, and of whom nothing shows that there is such a person. */
export async function noteSilent(
  context: Context,
  settings: readonly (readonly [option: string, value: string])[],
  operator: string,
): Promise<void> {
  for (const [option, value] of settings) {
    if (option !== 'gate' && option !== 'permit') continue;
    if (['', ASKER, operator].includes(value)) continue;
    const isKnown = await withIndex(context, {}, (index) => newestBy(index, value) !== undefined);
    if (!isKnown)
      context.note(
        `nobody called ${shown(value)} has written here yet: only somebody who writes under that name can decide; say ${option}=${ASKER} for whoever asks`,
      );
  }
}
