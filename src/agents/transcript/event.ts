import { withoutHalfWord } from '../../protocol/text/excerpt.ts';
import { addUsage, type UsageSum } from '../../protocol/usage.ts';
import { objectOn } from '../../protocol/text/json-line.ts';
import { objectIn, textIn, type Json } from '../output/reader.ts';

/** A step of an agent CLI, from its JSON, in a form for people. */
export type Event =
  /** Text of the model, or the reason of a failure. */
  | { kind: 'says' | 'fails'; text: string }
  /** A tool call with its arguments, in one line. */
  | { kind: 'tool'; text: string }
  /** Usage of the run so far. */
  | { kind: 'used'; usage: UsageSum };

/** A converter of a run's output, line by line, into steps for people. */
export interface Renderer {
  /** @returns undefined for a line that is not its JSON */
  line: (text: string) => Event[] | undefined;
  /** Ends the output; returns the remaining steps. */
  end: () => Event[];
}

/** Most characters of a tool's arguments. */
const MAX_INPUT = 300;
/** Names of the arguments that explain a call best, the best first. */
const TELLING = ['command', 'file_path', 'filePath', 'path', 'url', 'pattern', 'query', 'prompt'];

/** Usage of a run so far, summed from that of its turns. */
export class SoFar {
  readonly #sum: UsageSum = { input: 0, cached: 0, output: 0 };

  add(turn: UsageSum): Event {
    addUsage(this.#sum, turn);
    return this.with();
  }

  /** @param open usage to be added, which may still change */
  with(...open: UsageSum[]): Event {
    const usage = { ...this.#sum };
    for (const one of open) addUsage(usage, one);
    return { kind: 'used', usage };
  }
}

/** Returns a narrator of one JSON object for each line. */
export function jsonRenderer(event: (event: Json) => Event[], noise?: string): Renderer {
  return {
    line: (text) => {
      if (noise !== undefined && text.startsWith(noise)) return [];
      const object = objectOn(text);
      return object && event(object);
    },
    end: () => [],
  };
}

/** Returns the step of a tool call, such as `Bash: npm test`. */
export function toolCall(name: unknown, input: unknown): Event {
  const given = inputText(input).replace(/\s+/g, ' ').trim();
  const isCut = given.length > MAX_INPUT;
  const part = isCut ? `${withoutHalfWord(given.slice(0, MAX_INPUT))}…` : given;
  const said = given === '' ? '' : `: ${part}`;
  return { kind: 'tool', text: `${textIn(name)?.slice(0, MAX_INPUT) ?? 'a tool'}${said}` };
}

/** Most characters of an input that are examined, because no more of it is shown. */
const MAX_LOOKED = 4 * MAX_INPUT;

function inputText(input: unknown): string {
  if (typeof input === 'string') return input.slice(0, MAX_LOOKED);
  const fields = objectIn(input);
  for (const name of TELLING) {
    const value = fields[name];
    if (typeof value === 'string') return value.slice(0, MAX_LOOKED);
    if (Array.isArray(value) && value.every((word) => typeof word === 'string'))
      return value.join(' ').slice(0, MAX_LOOKED);
  }
  return Object.keys(fields).length === 0 ? '' : jsonOf(fields).slice(0, MAX_LOOKED);
}

/** Renders a value as JSON. An agent may nest as deeply as a line allows, and that is too deep to be serialized. */
function jsonOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return 'nested too deeply to be shown';
  }
}

/** Returns the step of a text, unless it is blank. */
export function words(kind: 'says' | 'fails', value: unknown): Event[] {
  const text = textIn(value) ?? '';
  return text.trim() === '' ? [] : [{ kind, text }];
}
