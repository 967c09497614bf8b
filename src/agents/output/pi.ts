import type { Usage } from '../../protocol/usage.ts';
import {
  jsonLines,
  objectIn,
  textIn,
  textsOf,
  tokens,
  type Json,
  type OutputReader,
} from './reader.ts';
import { money, together } from './sums.ts';

/** Ends with exit code 0 whatever happens; its last message says whether it failed. */
export function pi(): OutputReader {
  let last: Json | undefined;
  let model = '';
  const messages: Usage[] = [];
  return jsonLines(
    (event) => {
      const message = objectIn(event['message']);
      if (event['type'] !== 'message_end' || message['role'] !== 'assistant') return;
      last = message;
      model = textIn(message['model']) ?? model;
      const { input, output, cacheRead, cacheWrite, cost } = objectIn(message['usage']);
      messages.push({
        input: tokens(input) + tokens(cacheWrite),
        cached: tokens(cacheRead),
        output: tokens(output),
        ...money(objectIn(cost)['total']),
      });
    },
    () => {
      const usage = together(messages, model);
      const used = usage && { usage };
      if (last === undefined) return { ...used };
      const isError = last['stopReason'] === 'error' || last['stopReason'] === 'aborted';
      const why = textIn(last['errorMessage']) ?? 'it said that it failed, and no more';
      return isError ? { error: why, ...used } : { text: textsOf(last['content']), ...used };
    },
  );
}
