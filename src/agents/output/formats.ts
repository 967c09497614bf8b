import {
  type OutputReader,
  jsonLines,
  lastSaid,
  objectIn,
  textIn,
  tokens,
  type Json,
  textsOf,
} from './reader.ts';
import { claude, together, money } from './claude.ts';
import type { Usage } from '../../protocol/usage.ts';
import { beginOfObject, objectOn } from '../../protocol/text/json-line.ts';

/** Reads the output of pi, which always ends with exit code 0; its last message says whether it failed. */
function pi(): OutputReader {
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
      // A message that calls tools is followed by another.
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

export function piUsage({ input, output, cacheRead, cacheWrite, cost }: Json): Usage {
  return {
    input: tokens(input) + tokens(cacheWrite),
    cached: tokens(cacheRead),
    output: tokens(output),
    ...money(objectIn(cost)['total']),
  };
}

/** Returns the error of a message, if it is the last. */
export function piError({ stopReason, errorMessage }: Json): string | undefined {
  if (stopReason !== 'error' && stopReason !== 'aborted') return undefined;
  return textIn(errorMessage) ?? 'it said that it failed, and no more';
}

/** Reads the output of opencode, which prints each part of its answer, and the usage of each step. */
function opencode(): OutputReader {
  const texts = new Map<string, string>();
  let error: string | undefined;
  let [isSeen, isOpen] = [false, false];
  let session: string | undefined;
  const steps: Usage[] = [];
  return jsonLines(
    (event) => {
      const part = objectIn(event['part']);
      session ??= textIn(event['sessionID']);
      if (event['type'] === 'text') texts.set(textIn(part['id']) ?? '', textIn(part['text']) ?? '');
      // A step that ended with tool calls is followed by another.
      if (event['type'] !== 'error')
        isOpen = part['reason'] === 'tool-calls' || event['type'] !== 'step_finish';
      if (event['type'] === 'error') error = opencodeError(objectIn(event['error']));
      if (event['type'] !== 'step_finish') return;
      isSeen = true;
      error = undefined;
      steps.push(opencodeUsage(part));
    },
    () => {
      const usage = together(steps, '');
      const text = [...texts.values()].join('\n\n');
      return {
        ...((isSeen || text !== '') && { text }),
        ...(error !== undefined && { error }),
        ...(usage && { usage }),
        isFinal: !isOpen,
        ...(session !== undefined && { session }),
      };
    },
  );
}

/** Returns the usage of a step from the part in which it ends. */
export function opencodeUsage(part: Json): Usage {
  const { input, output, reasoning, cache } = objectIn(part['tokens']);
  const { read, write } = objectIn(cache);
  return {
    input: tokens(input) + tokens(write),
    cached: tokens(read),
    output: tokens(output) + tokens(reasoning),
    ...money(part['cost']),
  };
}

/** Renders an error as opencode prints it without JSON. */
export function opencodeError({ name, data }: Json): string {
  const message = textIn(objectIn(data)['message']);
  return `Error: ${message ?? textIn(name) ?? 'it said that it failed, and no more'}`;
}

/** Reads the output of gemini: one object, over many lines; an error is one on stderr, after other lines. */
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
/** Most lines that are tried as the beginning of an object. */
const TRIES = 50;

/** Parses the object that ends a text, over however many lines. */
function lastObject(lines: readonly string[]): Json | undefined {
  const begins = lines.flatMap((line, at) => (beginOfObject(line) < 0 ? [] : [at]));
  const ends = lines.findLastIndex((line) => line.trimEnd().endsWith('}')) + 1;
  for (const begin of begins.slice(-TRIES)) {
    const found = objectOn(lines.slice(begin, ends).join('\n'));
    if (found !== undefined) return found;
    // This line is not its beginning; a later one may be.
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

/** Renders an error as gemini prints it without JSON. */
function messageOf({ message, code }: Json): string | undefined {
  const text = textIn(message);
  if (text === undefined || tokens(code) < 400) return text;
  try {
    // The server's own error is JSON within the text.
    const { error } = objectIn(JSON.parse(text));
    return `[API Error: ${textIn(objectIn(error)['message']) ?? text}]`;
  } catch {
    return `[API Error: ${text}]`;
  }
}

/** Reads the output of codex, which states no money and no model, and its usage only when a turn has ended. */
function codex(): OutputReader {
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
      // A turn that fails before any item has cost nothing.
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
      // Codex's own wording of an error in a run without JSON.
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

export function codexUsage(usage: Json): Usage {
  const cached = tokens(usage['cached_input_tokens']);
  const input = Math.max(0, tokens(usage['input_tokens']) - cached);
  return { input, cached, output: tokens(usage['output_tokens']) };
}

/** Flags that make an agent CLI print JSON, and the reader of that. */
export interface OutputFormat {
  /** Flags that are added at the end of a plain call. */
  flags: string;
  /** A word that makes a call one without a terminal; undefined if no word is needed. */
  headless?: RegExp;
  /** Words by which the operator has chosen an output, or another kind of call. */
  chosen: RegExp;
  /** Prefix of lines without information, which are discarded. */
  noise?: string;
  /** Whether it states money. */
  money?: true;
  /** The option that limits its cost in US dollars. */
  cap?: string;
  reader: () => OutputReader;
}

/** Formats of the known agent CLIs, by name, as observed; see test/agents. */
export const OUTPUT_FORMATS: Readonly<Record<string, OutputFormat>> = {
  claude: {
    flags: '--output-format stream-json --verbose',
    headless: /^(?:-p|--print)$/,
    chosen: /^--(?:output-format|input-format|verbose|help|version)\b|^-[hv]$/,
    money: true,
    cap: '--max-budget-usd',
    reader: claude,
  },
  codex: {
    flags: '--json',
    headless: /^(?:exec|e)$/,
    chosen:
      /^(?:--(?:json|experimental-json|output-last-message|help|version)\b|-o|-h$|-V$|resume$)/,
    reader: codex,
  },
  gemini: {
    flags: '--output-format json',
    chosen:
      /^(?:--(?:output-format|prompt-interactive|help|version|list-\w+|acp|experimental-acp)\b|-[oihv]$|mcp$|extensions$|skills$|hooks$)/,
    reader: gemini,
  },
  opencode: {
    flags: '--format json',
    headless: /^run$/,
    chosen: /^--(?:format|help|version|attach|command)\b|^-[hv]$/,
    money: true,
    reader: opencode,
  },
  pi: {
    flags: '--mode json',
    headless: /^(?:-p|--print)$/,
    chosen: /^--(?:mode|help|version|export|list-models)\b|^-[hv]$/,
    noise: '{"type":"message_update"',
    money: true,
    reader: pi,
  },
};
