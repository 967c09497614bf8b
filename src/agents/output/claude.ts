import type { Usage } from '../../protocol/usage.ts';
import {
  dollars,
  jsonLines,
  objectIn,
  textIn,
  textsOf,
  tokens,
  type Json,
  type OutputReader,
} from './reader.ts';
import { money, named, together } from './sums.ts';

/** The last `result` states everything; what the messages say stands in for what it leaves out. */
export function claude(): OutputReader {
  let [result, model, said] = [undefined as Json | undefined, '', ''];
  const messages = new Map<string, Usage>();
  return jsonLines(
    (event) => {
      if (event['type'] === 'system') model = textIn(event['model']) ?? model;
      if (event['type'] === 'result') result = event;
      // What a helper of its own says is in its result only.
      if (event['type'] !== 'assistant') return;
      const { id, content, usage } = objectIn(event['message']);
      messages.set(textIn(id) ?? '', anthropicUsage(objectIn(usage)));
      if (textIn(event['parent_tool_use_id']) === undefined) said = textsOf(content);
    },
    () => {
      if (result === undefined) {
        const usage = together([...messages.values()], model);
        return { ...(said !== '' && { text: said }), ...(usage && { usage }) };
      }
      const { is_error: isError, result: text, usage, total_cost_usd: cost } = result;
      const stated = usage === undefined ? together([...messages.values()], '') : undefined;
      const used: Usage = {
        ...(stated ?? anthropicUsage(objectIn(usage))),
        ...named(dearest(objectIn(result['modelUsage'])) ?? model),
        ...money(cost),
        turns: tokens(result['num_turns']),
      };
      const answer = textIn(text) ?? '';
      if (isError === true) return { error: answer, usage: used };
      return { text: answer === '' && 'errors' in result ? said : answer, usage: used };
    },
  );
}

/** In the words of its API: `input` is without what was cached. */
export function anthropicUsage(usage: Json): Usage {
  return {
    input: tokens(usage['input_tokens']) + tokens(usage['cache_creation_input_tokens']),
    cached: tokens(usage['cache_read_input_tokens']),
    output: tokens(usage['output_tokens']),
  };
}

function dearest(models: Json): string | undefined {
  const cost = (name: string): number => dollars(objectIn(models[name])['costUSD']) ?? 0;
  return Object.keys(models).sort((a, b) => cost(b) - cost(a))[0];
}
