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

/** Errors for the stop reasons of a turn without an answer. */
const STOPS: Readonly<Record<string, string>> = {
  cancelled: 'it says that the turn was cancelled',
  refusal: 'it refused to go on',
  max_tokens: 'it reached the limit of tokens',
  max_turn_requests: 'it reached the limit of requests to the model',
};

/**
 * Reads one turn of the Agent Client Protocol, from the messages that the agent sent: the answer is the last
 * message of the agent that is not blank. Tokens are those of the turn; money is that of the session so far,
 * as the protocol defines it.
 */
export function acp(): OutputReader {
  // Text of all messages but the last, and of the last.
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
            // The amount is that of a session, which never decreases.
            usd = Math.max(costOf(update) ?? usd ?? -1, usd ?? -1);
            if (usd < 0) usd = undefined;
            context = contextOf(update) ?? context;
        }
      } else if (textIn(result['stopReason']) !== undefined) {
        stop = textIn(result['stopReason']);
        // The failed request was another one, such as one to add text to the turn.
        error = undefined;
        usage = usageOfBoth(usage, usageOf(result));
        // Text of a turn that was ended is no part of the answer of the one that started again.
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

/** Whether an update comes from the adapter itself, and not from the model. */
export function isNotice(update: Json): boolean {
  return objectIn(objectIn(update['_meta'])['claudeCode'])['kind'] !== undefined;
}

/** Returns the text of an error: that of the model's server, if the agent passes it on. */
export function errorOf({ message, data }: Json): string {
  const details = textIn(objectIn(data)['details']) ?? textIn(objectIn(data)['message']);
  return (
    details ?? textIn(message)?.replace(/^Internal error: /, '') ?? 'it failed, and says no more'
  );
}

/** Whether a turn continues: one that was cancelled may have started again. */
function isOpen(stop: string | undefined): boolean {
  return stop === undefined || stop === 'cancelled';
}

/** Returns the cost of a session so far, in US dollars. */
export function costOf(update: Json): number | undefined {
  const { amount, currency } = objectIn(update['cost']);
  return currency === 'USD' ? dollars(amount) : undefined;
}

function contextOf({ used, size }: Json): ReadOutput['context'] {
  const known = { used: tokens(used), size: tokens(size) };
  return known.size > 0 ? known : undefined;
}

/** Returns the usage of a turn from the answer to its prompt; gemini includes tokens of the cache in its input. */
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
    // Some agents include tokens of thinking in the output, others count them separately.
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
