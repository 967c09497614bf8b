import type { Usage } from '../../protocol/usage.ts';
import {
  jsonLines,
  lastSaid,
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
  let isOpen = false;
  let last: Json | undefined;
  let said = '';
  let model = '';
  let session: string | undefined;
  const messages: Usage[] = [];
  return jsonLines(
    (event) => {
      const message = objectIn(event['message']);
      if (event['type'] === 'session') session ??= textIn(event['id']);
      if (event['type'] === 'message_start') isOpen = true;
      if (event['type'] !== 'message_end' || message['role'] !== 'assistant') return;
      last = message;
      said = lastSaid(said, textsOf(message['content']));
      // Another message follows one that calls tools.
      isOpen = message['stopReason'] === 'toolUse';
      model = textIn(message['model']) ?? model;
      messages.push(piUsage(objectIn(message['usage'])));
    },
    () => {
      const usage = together(messages, model);
      const used = {
        ...(usage && { usage }),
        isFinal: !isOpen,
        ...(session !== undefined && { session }),
      };
      if (last === undefined) return used;
      const error = piError(last);
      return error === undefined ? { text: said, ...used } : { error, ...used };
    },
  );
}

/** What a message used. */
export function piUsage({ input, output, cacheRead, cacheWrite, cost }: Json): Usage {
  return {
    input: tokens(input) + tokens(cacheWrite),
    cached: tokens(cacheRead),
    output: tokens(output),
    ...money(objectIn(cost)['total']),
  };
}

/** Why a message is none, if it is the last. */
export function piError({ stopReason, errorMessage }: Json): string | undefined {
  if (stopReason !== 'error' && stopReason !== 'aborted') return undefined;
  return textIn(errorMessage) ?? 'it said that it failed, and no more';
}
