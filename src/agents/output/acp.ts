import { usageOfBoth, type Usage } from '../../protocol/usage.ts';
import {
  dollars,
  jsonLines,
  lastSaid,
  objectIn,
  textIn,
  tokens,
  type Json,
  type OutputReader,
  type ReadOutput,
} from './reader.ts';

/** What ended a turn without an answer, in words. */
const STOPS: Readonly<Record<string, string>> = {
  cancelled: 'it says that the turn was cancelled',
  refusal: 'it refused to go on',
  max_tokens: 'it reached the limit of tokens',
  max_turn_requests: 'it reached the limit of requests to the model',
};

/**
 * Reads one turn of the Agent Client Protocol, from the messages that the agent sent: the answer is the last
 * message of the agent that is not blank. What it used is that of the turn; money is that of
 * the session so far, as the protocol has it.
 */
export function acp(): OutputReader {
  // Of all messages but the last, and of the last.
  let [said, text] = ['', ''];
  let message: string | undefined;
  let stop: string | undefined;
  let error: string | undefined;
  let usage: Usage | undefined;
  let usd: number | undefined;
  let context: ReadOutput['context'];
  return jsonLines(
    (event) => {
      const update = objectIn(objectIn(event['params'])['update']);
      const result = objectIn(event['result']);
      if (event['method'] === 'session/update') {
        switch (update['sessionUpdate']) {
          case 'agent_message_chunk': {
            if (isNotice(update)) return;
            const id = textIn(update['messageId']);
            if (id !== message) [said, text, message] = [lastSaid(said, text), '', id];
            text += textIn(objectIn(update['content'])['text']) ?? '';
            return;
          }
          case 'tool_call':
            [said, text, message] = [lastSaid(said, text), '', undefined];
            return;
          case 'usage_update':
            // It is that of a session, which never gets cheaper.
            usd = Math.max(costOf(update) ?? usd ?? -1, usd ?? -1);
            if (usd < 0) usd = undefined;
            context = contextOf(update) ?? context;
        }
      } else if (textIn(result['stopReason']) !== undefined) {
        stop = textIn(result['stopReason']);
        // It was another request that failed, such as one to take words into the turn.
        error = undefined;
        usage = usageOfBoth(usage, usageOf(result));
        // What was said in a turn that was ended is no part of the answer of the one that began again.
        if (stop === 'cancelled') [said, text, message] = ['', '', undefined];
      } else if (event['method'] === undefined && event['error'] !== undefined && isOpen(stop))
        error = errorOf(objectIn(event['error']));
    },
    () => {
      const used = usage && { ...usage, ...(usd !== undefined && { usd }) };
      const ended = stop === undefined || stop === 'end_turn' ? undefined : STOPS[stop];
      const failed = error ?? (text.trim() === '' || stop === 'cancelled' ? ended : undefined);
      return {
        ...(stop !== undefined && { text: lastSaid(said, text) }),
        ...(failed !== undefined && { error: failed }),
        ...(used && { usage: used }),
        isFinal: used !== undefined && stop !== 'cancelled',
        ...(context && { context }),
      };
    },
  );
}

/** What an adapter tells of itself, and not the model. */
export function isNotice(update: Json): boolean {
  return objectIn(objectIn(update['_meta'])['claudeCode'])['kind'] !== undefined;
}

/** The words of an error: those of the model's server, where the agent passes them on. */
export function errorOf({ message, data }: Json): string {
  const details = textIn(objectIn(data)['details']) ?? textIn(objectIn(data)['message']);
  return (
    details ?? textIn(message)?.replace(/^Internal error: /, '') ?? 'it failed, and says no more'
  );
}

/** Whether a turn goes on: one that was cancelled may have begun again. */
function isOpen(stop: string | undefined): boolean {
  return stop === undefined || stop === 'cancelled';
}

/** The money that a session has cost so far, in US dollars. */
export function costOf(update: Json): number | undefined {
  const { amount, currency } = objectIn(update['cost']);
  return currency === 'USD' ? dollars(amount) : undefined;
}

function contextOf({ used, size }: Json): ReadOutput['context'] {
  const known = { used: tokens(used), size: tokens(size) };
  return known.size > 0 ? known : undefined;
}

/** What a turn used, by the answer to its prompt; gemini counts what it read of the cache with the rest. */
export function usageOf(result: Json): Usage | undefined {
  const usage = objectIn(result['usage']);
  const quota = objectIn(objectIn(result['_meta'])['quota']);
  const counted = objectIn(quota['token_count']);
  const models = Array.isArray(quota['model_usage']) ? quota['model_usage'] : [];
  const model = models.length === 1 ? textIn(objectIn(models[0])['model']) : undefined;
  const named = model !== undefined && model !== '' ? { model } : {};
  if (usage['inputTokens'] !== undefined) {
    const cached = tokens(usage['cachedReadTokens']);
    const input = tokens(usage['inputTokens']) + tokens(usage['cachedWriteTokens']);
    // Tokens of thinking are counted with the rest by some, and apart by others.
    const output = Math.max(
      tokens(usage['outputTokens']),
      tokens(usage['totalTokens']) - input - cached,
    );
    return { ...named, input, cached, output };
  }
  if (counted['input_tokens'] === undefined) return undefined;
  const output = tokens(counted['output_tokens']);
  return { ...named, input: tokens(counted['input_tokens']), cached: 0, output };
}
