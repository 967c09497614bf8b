import { amount } from '../../protocol/text/words.ts';
import { objectOn } from '../../protocol/text/json-line.ts';
import type { Usage } from '../../protocol/usage.ts';

/** Result of reading the output of an agent CLI that prints JSON. */
export interface ReadOutput {
  /** The answer; empty when the CLI said nothing, undefined when no answer can be had. */
  text?: string;
  /** Error reported by the CLI. */
  error?: string;
  usage?: Usage;
  /** Whether nothing follows that costs: the usage is that of the whole run, or no request reached the model. */
  isFinal?: boolean;
  /** Id of its session, if it states one before its first request to the model. */
  session?: string;
  /** Tokens in the context of its session, and the context's size, if it states them. */
  context?: { used: number; size: number };
}

/** A reader of the output of one run, line by line. */
export interface OutputReader {
  line: (text: string) => void;
  /** @param stderr the end of its stderr */
  end: (stderr: string) => ReadOutput;
}

/** JSON of an agent CLI, unchecked. */
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

/** Returns a count of tokens, or 0 for anything else. */
export function tokens(value: unknown): number {
  return Math.round(amount(value, MAX_TOKENS) ?? 0);
}

/** Returns an amount of US dollars, to the millionth. */
export function dollars(value: unknown): number | undefined {
  const usd = typeof value === 'number' ? amount(value, MAX_USD) : undefined;
  return usd === undefined ? undefined : Math.round(usd * 1e6) / 1e6;
}

/** Joins the texts of content blocks. */
export function textsOf(content: unknown): string {
  return listIn(content)
    .map((block) => objectIn(block))
    .map(({ type, text }) => (type === 'text' ? (textIn(text) ?? '') : ''))
    .join('');
}

/** Returns the later of two texts of a run, unless it is blank, as after the last call of a tool. */
export function lastSaid(earlier: string, later: string): string {
  return later.trim() === '' ? earlier : later;
}

/** Returns a reader of one JSON object for each line; other lines are skipped. */
export function jsonLines(event: (event: Json) => void, end: OutputReader['end']): OutputReader {
  return {
    line: (text) => {
      const object = objectOn(text);
      if (object !== undefined) event(object);
    },
    end,
  };
}
