import { amount } from '../../protocol/text/amounts.ts';
import { objectOn } from '../../protocol/text/json-line.ts';
import type { Usage } from '../../protocol/usage.ts';

/** What was found in the output of an agent CLI that prints JSON. */
export interface ReadOutput {
  /** The answer; empty when the CLI said nothing, undefined when no answer can be had. */
  text?: string;
  /** Why it failed, as the CLI says. */
  error?: string;
  usage?: Usage;
  /** Whether nothing follows that costs: it has said what the whole run used, or never got to the model. */
  isFinal?: boolean;
  /** The id of its session, where it says one before it asks the model. */
  session?: string;
  /** How full the context of its session is, in tokens, where it says that. */
  context?: { used: number; size: number };
}

/** Reads the output of one run, line by line. */
export interface OutputReader {
  line: (text: string) => void;
  /** @param stderr the end of what it printed there */
  end: (stderr: string) => ReadOutput;
}

/** JSON of an agent CLI: it may be anything. */
export type Json = Record<string, unknown>;

const MAX_TOKENS = 1e10;
const MAX_USD = 1e6;

export function objectIn(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A count of tokens, or 0 for anything else. */
export function tokens(value: unknown): number {
  return Math.round(amount(value, MAX_TOKENS) ?? 0);
}

/** An amount of US dollars, to the millionth. */
export function dollars(value: unknown): number | undefined {
  const usd = typeof value === 'number' ? amount(value, MAX_USD) : undefined;
  return usd === undefined ? undefined : Math.round(usd * 1e6) / 1e6;
}

/** The texts of content blocks, joined. */
export function textsOf(content: unknown): string {
  return listIn(content)
    .map((block) => objectIn(block))
    .map(({ type, text }) => (type === 'text' ? (textIn(text) ?? '') : ''))
    .join('');
}

/** What counts of two texts of a run: the later one, unless it is blank, as after the last call of a tool. */
export function lastSaid(earlier: string, later: string): string {
  return later.trim() === '' ? earlier : later;
}

/** A reader of one JSON object for each line; what is none is passed over. */
export function jsonLines(event: (event: Json) => void, end: OutputReader['end']): OutputReader {
  return {
    line: (text) => {
      const object = objectOn(text);
      if (object !== undefined) event(object);
    },
    end,
  };
}
