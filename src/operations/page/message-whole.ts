import type { WebMessageWhole } from '../../api/api.ts';
import { tipOf, type Context } from '../context.ts';
import { webMessage } from './message-page.ts';
import { withNaming } from '../lookup/naming.ts';
import { shownMessage } from '../reading/read.ts';

/**
 * One complete message, and its answers.
 *
 * @throws CrosstalkError as {@link shownMessage} does
 */
export async function wholeMessage(context: Context, given: string): Promise<WebMessageWhole> {
  const { channel, queued, ...located } = await shownMessage(context, given);
  const ref = { channel: channel.id, relPath: located.relPath };
  const answers = await withNaming(context, await tipOf(context), (naming) => naming(ref, 're'));
  return {
    ...webMessage(located, channel, { queued }, Infinity),
    answered_by: answers.map((answer) => answer.relPath),
  };
}
