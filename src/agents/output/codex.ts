import type { Usage } from '../../protocol/usage.ts';
import {
  jsonLines,
  lastSaid,
  objectIn,
  textIn,
  tokens,
  type Json,
  type OutputReader,
} from './reader.ts';
import { together } from './sums.ts';

/** States no money and no model, and its usage only when a turn has ended. */
export function codex(): OutputReader {
  let [said, error] = [undefined as string | undefined, undefined as string | undefined];
  const turns: Usage[] = [];
  let session: string | undefined;
  let isOpen = false;
  return jsonLines(
    (event) => {
      const item = objectIn(event['item']);
      if (event['type'] === 'thread.started') session ??= textIn(event['thread_id']);
      if (event['type'] === 'item.completed' && item['type'] === 'agent_message')
        said = lastSaid(said ?? '', textIn(item['text']) ?? '');
      // A turn that fails before anything came of it has cost nothing.
      if (textIn(event['type'])?.startsWith('item.') === true) isOpen = true;
      if (event['type'] === 'turn.failed') error = textIn(objectIn(event['error'])['message']);
      if (event['type'] === 'error') error = textIn(event['message']) ?? error;
      if (event['type'] !== 'turn.completed') return;
      [error, isOpen] = [undefined, false];
      turns.push(codexUsage(objectIn(event['usage'])));
      said ??= '';
    },
    () => {
      const usage = together(turns, '');
      if (usage !== undefined) delete usage.turns;
      // Its own words for an error of a run without JSON.
      const failed = error === undefined ? {} : { error: `ERROR: ${error}` };
      return {
        ...(said !== undefined && { text: said }),
        ...failed,
        ...(usage && { usage }),
        isFinal: !isOpen,
        ...(session !== undefined && { session }),
      };
    },
  );
}

/** The usage of a turn. */
export function codexUsage(usage: Json): Usage {
  const cached = tokens(usage['cached_input_tokens']);
  const input = Math.max(0, tokens(usage['input_tokens']) - cached);
  return { input, cached, output: tokens(usage['output_tokens']) };
}
