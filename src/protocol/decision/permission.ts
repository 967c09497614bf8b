import type { Message } from '../message.ts';
import type { Writer } from '../reply.ts';
import { MAX_TOOL_INPUT, permissionIn, type PermissionOnRecord } from '../text/words.ts';
import { escapeInvisible, visible } from '../text/quoted.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';

/** Most tool calls about which a run may ask; any further one is denied at once. */
export const MOST_QUESTIONS = 5;
/** The options of a permission question: `approve` and `deny` stand for them. */
const OPTIONS = ['once', 'deny'];

/** Estimated risk of a tool call, with the reasons in a few words each. */
export interface Marked {
  mark: string;
  because: readonly string[];
}

/**
 * Converts a tool call into its recorded form: its input is JSON on one line, in which all invisible characters are
 * escaped. A person sees exactly this whole text, and exactly this is allowed.
 *
 * @returns the reason why it cannot be asked about
 */
export function toolCall(tool: unknown, input: unknown): Parsed<PermissionOnRecord> {
  if (typeof tool !== 'string' || typeof input !== 'object' || input === null)
    return unreadable('the question cannot be read: a tool and its input are expected');
  const text = textOf(input);
  if (text === undefined) return unreadable('its input is nested too deeply for a question');
  if (text.length > MAX_TOOL_INPUT)
    return unreadable(
      `its input is ${String(text.length)} characters long, and nobody is asked about more than ${String(MAX_TOOL_INPUT)}; do it in smaller steps`,
    );
  const call = permissionIn({ tool, input: text });
  return call === undefined ? unreadable(`${shown(tool)} is no name of a tool`) : parsed(call);
}

/** Renders an input as JSON. An asker may nest as deeply as a line allows, and that is too deep to be serialized. */
function textOf(input: object): string | undefined {
  try {
    return escapeInvisible(JSON.stringify(input));
  } catch {
    return undefined;
  }
}

/**
 * Composes the message that asks a person whether a run may use a tool (work.md): an interim message for the one who
 * waits for the run's answer, and a proposal for the person.
 *
 * @param re the messages that the run works on
 */
export function permissionQuestion(
  call: PermissionOnRecord,
  { mark, because }: Marked,
  { actor, host, at }: Writer,
  { approver, re }: { approver: string; re: readonly string[] },
): Message {
  return {
    from: actor,
    to: [{ name: approver }],
    type: 'text',
    timestamp: at.toISOString(),
    re: [...re],
    cause: [],
    interim: true,
    proposal: true,
    permission: { ...call, marks: [mark] },
    options: OPTIONS,
    ...(host === undefined ? {} : { host }),
    extra: {},
    body: questionText(actor, call, { mark, because }),
  };
}

function questionText(actor: string, call: PermissionOnRecord, { mark, because }: Marked): string {
  const why = because.length === 0 ? '' : `: ${because.join('; ')}`;
  return [
    `${actor} is at work and asks for permission to use ${visible(call.tool)}.`,
    '',
    `Mark: ${mark}${why}`,
    '',
    ...inputLines(call.input),
    '',
    'Allow it once: crosstalk approve <this message>. Otherwise: crosstalk deny <this message> [why].',
    '',
  ].join('\n');
}

/** Most lines in which the text of one argument is shown. */
const MOST_LINES = 1000;

/**
 * Renders an input for people: each argument on a line, a text of several lines with a mark before each. Nothing is
 * left out, and nothing in it can end the mark or hide a part.
 *
 * @param input JSON text
 */
function inputLines(input: string): string[] {
  const value = JSON.parse(input) as Record<string, unknown>;
  return Object.entries(value).flatMap(([name, argument]) => {
    const key = /^\w{1,64}$/.test(name) ? name : visible(name);
    const lines = typeof argument === 'string' ? argument.split('\n') : [];
    if (lines.length < 2 || lines.length > MOST_LINES || lines.some((line) => line.includes('\r')))
      return [`    ${key}: ${escapeInvisible(JSON.stringify(argument))}`];
    return [`    ${key}:`, ...lines.map((line) => `      | ${escapeInvisible(line)}`)];
  });
}
