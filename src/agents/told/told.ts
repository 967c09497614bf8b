import { addUsage, type UsageSum } from '../../protocol/usage.ts';
import { objectOn } from '../../protocol/text/json-line.ts';
import { objectIn, textIn, type Json } from '../output/reader.ts';

/** What an agent CLI says in its JSON that it does, in a form for people. */
export type Told =
  /** Text of the model, or why something failed. */
  | { kind: 'says' | 'fails'; text: string }
  /** A tool that is called, and with what, in one line. */
  | { kind: 'tool'; text: string }
  /** What the run has used so far. */
  | { kind: 'used'; usage: UsageSum };

/** Tells what a run does, from its output line by line. */
export interface Narrator {
  /** @returns undefined for a line that is none of its JSON */
  line: (text: string) => Told[] | undefined;
  /** Called when nothing more comes. */
  end: () => Told[];
}

/** Characters of what a tool is called with. */
const MAX_INPUT = 300;
/** What tells most about a call, the most telling first. */
const TELLING = ['command', 'file_path', 'filePath', 'path', 'url', 'pattern', 'query', 'prompt'];

/** What a run has used so far, from that of its turns. */
export class SoFar {
  readonly #sum: UsageSum = { input: 0, cached: 0, output: 0 };

  add(turn: UsageSum): Told {
    addUsage(this.#sum, turn);
    return this.with();
  }

  /** @param open what is added to it, and may still change */
  with(...open: UsageSum[]): Told {
    const usage = { ...this.#sum };
    for (const one of open) addUsage(usage, one);
    return { kind: 'used', usage };
  }
}

/** A narrator of one JSON object for each line. */
export function jsonNarrator(event: (event: Json) => Told[], noise?: string): Narrator {
  return {
    line: (text) => {
      if (noise !== undefined && text.startsWith(noise)) return [];
      const object = objectOn(text);
      return object && event(object);
    },
    end: () => [],
  };
}

/** A call of a tool, such as `Bash: npm test`. */
export function toolCall(name: unknown, input: unknown): Told {
  const given = inputText(input).replace(/\s+/g, ' ').trim();
  const more = given.length > MAX_INPUT ? '…' : '';
  const said = given === '' ? '' : `: ${given.slice(0, MAX_INPUT)}${more}`;
  return { kind: 'tool', text: `${textIn(name)?.slice(0, MAX_INPUT) ?? 'a tool'}${said}` };
}

/** Beyond this nothing of an input is shown, so no more of it is looked at. */
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

/** An agent may nest as deeply as a line allows, and that is deeper than can be written again. */
function jsonOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return 'nested too deeply to be shown';
  }
}

/** What was said, unless it is blank. */
export function words(kind: 'says' | 'fails', value: unknown): Told[] {
  const text = textIn(value) ?? '';
  return text.trim() === '' ? [] : [{ kind, text }];
}
