import type { Located } from '../../protocol/message.ts';
import { tipOf, type Context } from '../context.ts';
import type { Naming } from '../lookup/naming.ts';
import type { WebState } from '../../api/api.ts';
import { servedNames, statesOf } from './thread.ts';

/** The state of a message at its addressees. */
export interface Standing {
  relPath: string;
  states: WebState[];
}

/**
 * The state of some messages at their addressees, as far as this machine knows. Neither the remote
 * nor the index is asked: answers are looked for among the given messages.
 *
 * @param channel id of their channel
 * @param known messages of the channel: those in question, and possible answers
 * @param wanted relPaths of those in question
 */
export async function standings(
  context: Context,
  channel: string,
  known: readonly Located[],
  wanted: ReadonlySet<string>,
): Promise<Standing[]> {
  const naming: Naming = ({ relPath }, where) =>
    Promise.resolve(
      known.filter(({ message: { re, cause } }) =>
        (where === 're_or_cause' ? [...re, ...cause] : re).includes(relPath),
      ),
    );
  const served = await servedNames(context, await tipOf(context));
  return Promise.all(
    known
      .filter(({ relPath }) => wanted.has(relPath))
      .map(async (one) => ({
        relPath: one.relPath,
        states: await statesOf(context, channel, served, one, known, naming),
      })),
  );
}
