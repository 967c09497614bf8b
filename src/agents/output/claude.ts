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
 * The last `result` states everything; what the messages say stands in for what it leaves out. Of several, the
 * most that one of them states is what was used: another line of that form cannot make it less.
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
      // What a helper of its own says is in its result only.
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

/** In the words of its API: `input` is without what was cached. */
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

/** The most of each that one of some results states. */
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

/** The name of a model, if it is known and can be one. */
function named(model: string): Pick<Usage, 'model'> {
  return isModel(model) ? { model } : {};
}

/** An amount that a CLI states. */
export function money(value: unknown): Pick<Usage, 'usd'> {
  const usd = dollars(value);
  return usd === undefined ? {} : { usd };
}

/** The usage of a whole run from that of its turns; undefined if there was none. Money is stated by all, or not. */
export function together(turns: readonly Usage[], model: string): Usage | undefined {
  if (turns.length === 0) return undefined;
  const sum: Usage = { ...named(model), input: 0, cached: 0, output: 0, turns: turns.length };
  for (const turn of turns) addUsage(sum, turn);
  if (turns.some(({ usd }) => usd === undefined)) delete sum.usd;
  return sum;
}
