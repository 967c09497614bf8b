import type { Value } from './record.ts';
import type { HeldChange } from './approval.ts';
import { durationText } from '../text/times.ts';
import { asAscii, asAsciiJson } from '../text/quoted.ts';

/** Most characters of a text in one line; `host show` prints all of it. */
const SHORT = 100;

/** Renders a value in the form in which a person judges it: JSON of printable ASCII. */
export function valueText(value: Value | undefined): string {
  return value === undefined ? 'nothing' : asAscii(JSON.stringify(value));
}

/** Options of a tier that are durations, which are stored in milliseconds. */
const DURATIONS = new Set(['timeout', 'retry_delay', 'permit_timeout']);

/**
 * Renders the value of an option in the form in which a person judges it; a duration in the form in which it
 * is written.
 */
export function optionText(option: string, value: Value | undefined): string {
  return typeof value === 'number' && DURATIONS.has(option)
    ? durationText(value)
    : valueText(value);
}

/** Renders a name in a form that cannot be mistaken for something else. */
export function nameText(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : asAsciiJson(name);
}

/** Renders a command as it is written, unless some of its characters might be invisible. */
export function commandText(cli: string): string {
  return /^[\x20-\x7e]*$/.test(cli) ? cli : asAsciiJson(cli);
}

/** Renders a held change on one line, cut short. */
export function changeText({ name, changes, refused }: HeldChange): string {
  const parts = changes.map(
    ({ option, approved, proposed }) =>
      `${option} ${short(option, proposed)} (in force: ${short(option, approved)})`,
  );
  const why = refused === undefined ? '' : `; refused: ${refused}`;
  return `${nameText(name)}: ${parts.length === 0 ? 'as approved before' : parts.join(', ')}${why}`;
}

function short(option: string, value: Value | undefined): string {
  return typeof value === 'object' || typeof value === 'string'
    ? shortJson(value, SHORT)
    : optionText(option, value);
}

/** JSON of about so many characters, cut between the parts of a value and within no name, so that it stays readable. */
function shortJson(value: Value, room: number): string {
  const whole = valueText(value);
  if (whole.length <= room) return whole;
  if (typeof value === 'string') return valueText(`${value.slice(0, Math.max(0, room - 5))}...`);
  if (typeof value !== 'object') return whole;
  const parts: string[] = [];
  let left = room - '{...}'.length;
  for (const [name, one] of Object.entries(value)) {
    const key = Array.isArray(value) ? '' : `${valueText(name)}:`;
    const text = key + shortJson(one, Math.max(0, left - key.length));
    if (text.length > left) break;
    parts.push(text);
    left -= text.length + 1;
  }
  if (parts.length < Object.keys(value).length) parts.push('...');
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

/** Renders the author, time and commit of a held change, as the commit states them; undefined if unknown. */
export function pushedText({ pushed }: HeldChange): string | undefined {
  if (pushed === undefined) return undefined;
  const { by, at, commit } = pushed;
  return `pushed by ${nameText(by)} at ${asAscii(at)} in ${commit.slice(0, 12)}`;
}
