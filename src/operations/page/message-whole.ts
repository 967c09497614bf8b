import type { WebMessageWhole } from '../../api/api.ts';
import { tipOf, type Context } from '../context.ts';
import { webMessage } from './message-page.ts';
import { withNaming } from '../lookup/naming.ts';
import { readMessage } from '../reading/read.ts';

/**
 * One complete message, and its answers.
 *
 * @throws CrosstalkError as {@link readMessage} does
 */
export async function wholeMessage(context: Context, given: string): Promise<WebMessageWhole> {
  const { channel, relPath, message, queued } = await readMessage(context, given);
  const ref = { channel: channel.id, relPath };
  const answers = await withNaming(context, await tipOf(context), (naming) => naming(ref, 're'));
  return {
    ...webMessage({ relPath, message }, channel, { queued }, Infinity),
    answered_by: answers.map((answer) => answer.relPath),
  };
}
