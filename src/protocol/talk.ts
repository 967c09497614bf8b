import { filesIn, type AttachedFile } from './attached.ts';
import {
  decisionIn,
  digestIn,
  permissionIn,
  type Decision,
  type PermissionOnRecord,
  branchIn,
  type BranchOnRecord,
} from './text/words.ts';
import { isName, isRelPath, isOrigin } from './layout.ts';
import { usageIn, type UsageOnRecord } from './usage.ts';
import type { HeaderFields } from './text/frontmatter.ts';
import { isOneLine, escapeInvisible } from './text/quoted.ts';
import { parsed, shown, unreadable, type Parsed } from './text/result.ts';

/** Most bytes of a JSON Schema in a message, as JSON in UTF-8 (talk.md). */
export const MAX_SCHEMA_BYTES = 16 * 1024;

/**
 * Reads the JSON Schema in a message's header: a JSON object as text, since YAML is read here without types
 * (`minLength: 5` would be a word). Anything else is ignored.
 */
export function schemaIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || Buffer.byteLength(value) > MAX_SCHEMA_BYTES) return undefined;
  try {
    const schema: unknown = JSON.parse(value);
    const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
    return isObject ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A fence around the whole of a text: three backticks or more, with or without the word "json". */
const FENCED = /^(?<fence>`{3,})(?:json)?[ \t]*\r?\n(?<inside>[\s\S]*?)\r?\n?\k<fence>$/i;

/** Most characters of a text in which JSON is searched among words. */
const MOST_LOOSE = 256 * 1024;

/** A code fence somewhere in a text. */
const FENCES = /^(`{3,})(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?^\1[ \t]*$/gim;

/**
 * Returns the output of a run without the blanks, the code fence and the words around it, if the rest is one
 * JSON document; if there may be several, the whole text.
 */
export function unfenced(text: string): string {
  const whole = text.trim();
  const inside = FENCED.exec(whole)?.groups?.['inside']?.trim();
  const isOne = inside !== undefined && !/^`{3}/m.test(inside);
  if (isOne || isJson(whole) || whole.length > MOST_LOOSE) return inside ?? whole;
  const fenced = [...whole.matchAll(FENCES)].flatMap(([, , one = '']) =>
    isJson(one) ? [one.trim()] : [],
  );
  if (fenced.length > 0) return fenced.length === 1 ? (fenced[0] ?? whole) : whole;
  const begin = whole.search(/[[{]/);
  const among = whole.slice(begin, Math.max(whole.lastIndexOf('}'), whole.lastIndexOf(']')) + 1);
  return begin >= 0 && isJson(among) ? among : whole;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A message that was added to an active run, as the run's answer records it. */
export interface Steered {
  /** Its relPath. */
  message: string;
  /** Whether the run continued with it, or was ended and started again. */
  how: 'into' | 'again';
  /** The id of the run. */
  run: string;
}

/** Most messages that are added to one run: each may make it start again. */
export const MAX_STEERED = 20;

const RUN = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** Parses the messages added to a run from a header, which anybody may have pushed; undefined if it cannot be read. */
function steeredIn(value: unknown): Steered[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_STEERED) return undefined;
  const found = value.flatMap((one: unknown): Steered[] => {
    const { message, how, run } = (one ?? {}) as Record<string, unknown>;
    if (!isRelPath(message) || (how !== 'into' && how !== 'again')) return [];
    return typeof run === 'string' && RUN.test(run) ? [{ message, how, run }] : [];
  });
  return found.length === value.length ? found : undefined;
}

/**
 * Fields of a message that plain 6.0 does not know, and keeps (talk.md). All are optional, and none makes a
 * message malformed: an unreadable value is kept like any unknown field, and has no effect.
 */
export interface TalkFields {
  /** Set if it is a question to its addressee although it has `re`: the only open one of its delivery. */
  asks?: true;
  /** The answers from which the addressee may choose, numbered from 1. */
  options?: string[];
  /** Set for an interim message, before an answer: it settles nothing, pays no debt, ends no waiting. */
  interim?: true;
  /** With `interim`: a run printed it; one that a run sent is a question back to the asker. */
  printed?: true;
  /** The interim message whose text is repeated here, as the answer. */
  final?: string;
  /** Set in the notice of a delivery that failed for good. */
  failed?: Failure;
  /** The message that it cancels. */
  cancels?: string;
  /** With `cancels`: the tasks that were delegated for it continue. */
  only?: true;
  /** With `cancels`: a person cancels, in place of its writer, a message that no host serves. */
  as_operator?: true;
  /** The question of the same writer and channel to whose work it adds, if that is active. */
  steers?: string;
  /** In an answer: the messages that were added to its run. */
  steered?: Steered[];
  /** Set if of all hosts that serve its addressee, one takes it (pools.md). */
  one?: true;
  /** The attached files. */
  files?: AttachedFile[];
  /** The JSON Schema that an answer to it has to fit, as JSON text. */
  schema?: string;
  /** Set if it is JSON that fits the schema of the question. */
  json?: true;
  /** Usage of the run that wrote it (bills.md). */
  usage?: UsageOnRecord;
  /** The branch of the run that wrote it (work.md). */
  branch?: BranchOnRecord;
  /** Set if a person has to decide on it, with a reply that carries `decision`. */
  proposal?: true;
  /** With `proposal`: the tool call that waits for permission in the middle of a run. */
  permission?: PermissionOnRecord;
  /** The decision of its writer on the proposal that `re` names. */
  decision?: Decision;
  /** With `decision`: the SHA-256 of the proposal, in hex. */
  decides?: string;
}

/** Failure of a delivery. */
interface Failure {
  /** Code of the reason, such as `exit_code`. */
  reason: string;
  /** Number of its runs. */
  attempts: number;
  /** Alias of the host that has the dead letter. */
  host: string;
  /** Id of the dead letter on that host. */
  dead_letter: string;
}

/** Most options of a question. */
const MAX_OPTIONS = 20;
/** Most characters of an option. */
const MAX_OPTION = 200;

const CODE = /^[A-Za-z0-9_.-]{1,64}$/;
const NUMBER = /^\d{1,9}$/;

type Readers = { [K in keyof TalkFields]-?: (value: unknown) => TalkFields[K] | undefined };

const READERS: Readers = {
  asks: isTrue,
  options: optionsIn,
  interim: isTrue,
  printed: isTrue,
  final: refIn,
  failed: failureIn,
  cancels: refIn,
  only: isTrue,
  as_operator: isTrue,
  steers: (value) => (isRelPath(value) ? value : undefined),
  steered: steeredIn,
  one: isTrue,
  files: filesIn,
  schema: schemaIn,
  json: isTrue,
  usage: usageIn,
  branch: branchIn,
  proposal: isTrue,
  permission: permissionIn,
  decision: decisionIn,
  decides: digestIn,
};

/** The keys of {@link TalkFields}, in the order in which they are written. */
const KEYS = Object.keys(READERS) as (keyof TalkFields)[];

/** Parses these fields; unreadable ones are left out. */
export function talkFieldsIn(fields: HeaderFields): TalkFields {
  const found: [string, unknown][] = [];
  for (const key of KEYS) {
    if (!Object.hasOwn(fields, key)) continue;
    const value = READERS[key](fields[key]);
    if (value !== undefined) found.push([key, value]);
  }
  return Object.fromEntries(found);
}

/** Returns the fields of a message as they are written into its header. */
export function talkHeader(fields: TalkFields): HeaderFields {
  return Object.fromEntries(
    KEYS.filter((key) => fields[key] !== undefined).map((key) => [key, fields[key]]),
  );
}

/** Whether a text can be an option. */
export function isOption(value: unknown): value is string {
  return isOneLine(value) && value.length <= MAX_OPTION;
}

/** Parses a flag. YAML is read without types, so that every word is text: true is the text "true". */
function isTrue(value: unknown): true | undefined {
  return value === 'true' || value === true ? true : undefined;
}

function optionsIn(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_OPTIONS) return undefined;
  return value.every(isOption) ? value : undefined;
}

function refIn(value: unknown): string | undefined {
  return isRelPath(value) || isOrigin(value) ? value : undefined;
}

function failureIn(value: unknown): Failure | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { reason, attempts, host, dead_letter: letter } = value as Record<string, unknown>;
  const isCode = (text: unknown): text is string => typeof text === 'string' && CODE.test(text);
  const isCount = typeof attempts === 'number' || typeof attempts === 'string';
  if (!isCode(reason) || !isCode(letter) || !isName(host)) return undefined;
  if (!isCount || !NUMBER.test(String(attempts))) return undefined;
  return { reason, attempts: Number(attempts), host, dead_letter: letter };
}

/**
 * Whether a message is a final answer: a reply to it asks anew (talk.md). An interim answer does not end its
 * question, and a question is not an answer.
 */
export function isFinalAnswer({
  re,
  interim,
  asks,
}: { re: readonly string[] } & Pick<TalkFields, 'interim' | 'asks'>): boolean {
  return re.length > 0 && interim !== true && asks !== true;
}

/** Returns the problem of some texts as the options of a question; undefined if there is none. */
export function optionsProblem(options: readonly string[]): string | undefined {
  if (options.length > MAX_OPTIONS)
    return `${String(options.length)} options; a question has at most ${String(MAX_OPTIONS)}`;
  const texts: readonly unknown[] = options;
  const wrong = texts.find((text) => !isOption(text));
  if (wrong !== undefined)
    return `${shown(wrong)} is no option: expected one line of at most 200 characters`;
  const twice = options.find((option, at) => options.indexOf(option) !== at);
  return twice === undefined ? undefined : `${shown(twice)} is there twice`;
}

/** Renders the options of a question for people: numbered, each on one line, nothing hidden. */
export function optionLines(options: readonly string[]): string[] {
  return options.map((option, at) => `${String(at + 1)}) ${escapeInvisible(option)}`);
}

/** The text of a reply, and the number of the option that it chooses. */
interface ChosenText {
  body: string;
  /** Number of the option, from 1; absent when none was chosen. */
  chosen?: number;
}

/**
 * Returns the text of a reply to a message: that of the chosen option, with the reply's own text below it. A text that
 * consists of an option's number chooses it too, unless it is the text of an option; another number chooses nothing,
 * and is not a text either.
 *
 * @param given `option`: the number, as typed
 */
export function replyText(
  options: readonly string[],
  { option, body }: { option?: string; body: string },
): Parsed<ChosenText> {
  const own = body.trim();
  if (option !== undefined) {
    const text = optionAt(options, option);
    if (text === undefined) return unreadable(wrongOption(options, option));
    return parsed({
      body: own === '' ? text : `${text}\n\n${body}`,
      chosen: Number(option),
    });
  }
  if (options.length === 0 || options.includes(own) || !/^\d{1,2}$/.test(own))
    return parsed({ body });
  const text = optionAt(options, own);
  return text === undefined
    ? unreadable(`${shown(own)} is none of the options: ${expected(options)}`)
    : parsed({ body: text, chosen: Number(own) });
}

function optionAt(options: readonly string[], number: string): string | undefined {
  return /^[1-9]\d?$/.test(number) ? options[Number(number) - 1] : undefined;
}

function wrongOption(options: readonly string[], given: string): string {
  if (options.length === 0)
    return `--option ${shown(given)}: that message offers no options; leave --option out and give a text`;
  return `--option ${shown(given)}: ${expected(options)}`;
}

function expected(options: readonly string[]): string {
  return `expected a number from 1 to ${String(options.length)}: ${optionLines(options).join(', ')}`;
}
