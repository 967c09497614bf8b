import { type Usage, addUsage, isModel } from '../../protocol/usage.ts';
import {
  dollars,
  jsonLines,
  lastSaid,
  objectIn,
  textIn,
  textsOf,
  tokens,
  type Json,
  type OutputReader,
} from './reader.ts';

/**
 * Reads the output of claude. The last `result` states everything; the messages provide the text that it
 * leaves out. Of several results, the largest usage counts: another line of that form cannot make it smaller.
 */
export function claude(): OutputReader {
  let [result, model, said] = [undefined as Json | undefined, '', ''];
  const results: Usage[] = [];
  const messages = new Map<string, Usage>();
  return jsonLines(
    (event) => {
      if (event['type'] === 'system') model = textIn(event['model']) ?? model;
      if (event['type'] === 'result') {
        result = event;
        results.push({
          ...anthropicUsage(objectIn(event['usage'])),
          ...money(event['total_cost_usd']),
        });
      }
      // The text of a subagent is in its result only.
      if (event['type'] !== 'assistant') return;
      const { id, content, usage } = objectIn(event['message']);
      messages.set(textIn(id) ?? '', anthropicUsage(objectIn(usage)));
      if (textIn(event['parent_tool_use_id']) === undefined)
        said = lastSaid(said, textsOf(content));
    },
    () => {
      if (result === undefined) {
        const usage = together([...messages.values()], model);
        const isFinal = usage === undefined;
        return { ...(said !== '' && { text: said }), ...(usage && { usage }), isFinal };
      }
      const { is_error: isError, result: text } = result;
      const seen = together([...messages.values()], '');
      const used: Usage = {
        ...most([...results, ...(seen === undefined ? [] : [seen])]),
        ...named(dearest(objectIn(result['modelUsage'])) ?? model),
        turns: tokens(result['num_turns']),
      };
      const answer = textIn(text) ?? '';
      // Another program that the run started may have written a result: it states less than was seen.
      const isShort = seen !== undefined && sizeOf(most(results)) < sizeOf(seen);
      const isFinal = !isShort && (used.usd !== undefined || seen === undefined);
      if (isError === true) return { error: answer, usage: used, isFinal };
      return { text: lastSaid(said, answer), usage: used, isFinal };
    },
  );
}

/** Converts the usage in Anthropic's API: its `input` excludes cached tokens. */
export function anthropicUsage(usage: Json): Usage {
  return {
    input: tokens(usage['input_tokens']) + tokens(usage['cache_creation_input_tokens']),
    cached: tokens(usage['cache_read_input_tokens']),
    output: tokens(usage['output_tokens']),
  };
}

function sizeOf({ input, cached, output }: Usage): number {
  return input + cached + output;
}

/** Returns the largest of each number in some results. */
function most(results: readonly Usage[]): Usage {
  const of = (name: 'input' | 'cached' | 'output'): number =>
    Math.max(...results.map((one) => one[name]));
  const usd = Math.max(...results.map((one) => one.usd ?? -1));
  return {
    ...{ input: of('input'), cached: of('cached'), output: of('output') },
    ...(usd >= 0 && { usd }),
  };
}

function dearest(models: Json): string | undefined {
  const cost = (name: string): number => dollars(objectIn(models[name])['costUSD']) ?? 0;
  return Object.keys(models).sort((a, b) => cost(b) - cost(a))[0];
}

/** Returns the name of a model, if it is known and valid. */
function named(model: string): Pick<Usage, 'model'> {
  return isModel(model) ? { model } : {};
}

/** Returns an amount of US dollars that a CLI states. */
export function money(value: unknown): Pick<Usage, 'usd'> {
  const usd = dollars(value);
  return usd === undefined ? {} : { usd };
}

/**
 * Sums the usage of turns to that of a whole run; undefined if there was none. Money is summed only if all of
 * them state it.
 */
export function together(turns: readonly Usage[], model: string): Usage | undefined {
  if (turns.length === 0) return undefined;
  const sum: Usage = { ...named(model), input: 0, cached: 0, output: 0, turns: turns.length };
  for (const turn of turns) addUsage(sum, turn);
  if (turns.some(({ usd }) => usd === undefined)) delete sum.usd;
  return sum;
}
