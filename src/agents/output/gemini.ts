import type { Usage } from '../../protocol/usage.ts';
import { beginOfObject, objectOn } from '../../protocol/text/json-line.ts';
import { objectIn, textIn, tokens, type Json, type OutputReader } from './reader.ts';
import { together } from './sums.ts';

/** One object, over many lines; an error is one on stderr, after other lines. */
export function gemini(): OutputReader {
  const lines: string[] = [];
  let bytes = 0;
  return {
    line: (text) => {
      lines.push(text);
      bytes += text.length + 1;
      while (bytes > MAX_GEMINI) bytes -= (lines.shift()?.length ?? 0) + 1;
    },
    end: (stderr) => {
      const found = lastObject(lines);
      const failed = objectIn((found ?? lastObject(stderr.split('\n')))?.['error']);
      const message = messageOf(failed);
      const { models } = objectIn(found?.['stats']);
      const usage = models === undefined ? undefined : geminiUsage(objectIn(models));
      const text = textIn(found?.['response']);
      return {
        ...(text !== undefined && { text }),
        ...(message !== undefined && { error: message }),
        ...(usage && { usage }),
        isFinal: usage !== undefined,
      };
    },
  };
}

const MAX_GEMINI = 16 * 1024 * 1024;
/** How many beginnings of an object are tried. */
const TRIES = 50;

/** The object that ends a text, over however many lines. */
function lastObject(lines: readonly string[]): Json | undefined {
  const begins = lines.flatMap((line, at) => (beginOfObject(line) < 0 ? [] : [at]));
  const ends = lines.findLastIndex((line) => line.trimEnd().endsWith('}')) + 1;
  for (const begin of begins.slice(-TRIES)) {
    const found = objectOn(lines.slice(begin, ends).join('\n'));
    if (found !== undefined) return found;
    // It begins later.
  }
  return undefined;
}

function geminiUsage(models: Json): Usage | undefined {
  const all = Object.entries(models).map(([model, value]): Usage & { of: string } => {
    const used = objectIn(objectIn(value)['tokens']);
    const cached = tokens(used['cached']);
    return {
      of: model,
      input: Math.max(0, tokens(used['prompt']) - cached) + tokens(used['tool']),
      cached,
      output: tokens(used['candidates']) + tokens(used['thoughts']),
      turns: tokens(objectIn(objectIn(value)['api'])['totalRequests']),
    };
  });
  const total = (one: Usage): number => one.input + one.cached + one.output;
  const [largest] = [...all].sort((a, b) => total(b) - total(a));
  if (largest === undefined) return undefined;
  const turns = all.reduce((sum, one) => sum + (one.turns ?? 0), 0);
  return { ...together(all, largest.of), turns } as Usage;
}

/** In the form in which it tells an error of the model's server when it prints no JSON. */
function messageOf({ message, code }: Json): string | undefined {
  const text = textIn(message);
  if (text === undefined || tokens(code) < 400) return text;
  try {
    // The server's own error, as text within the text.
    const { error } = objectIn(JSON.parse(text));
    return `[API Error: ${textIn(objectIn(error)['message']) ?? text}]`;
  } catch {
    return `[API Error: ${text}]`;
  }
}
