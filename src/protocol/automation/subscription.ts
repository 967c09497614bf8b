import { EVERYONE, formatAddress, type Address } from '../address.ts';
import { isTier } from '../message.ts';
import { isName, isSender } from '../layout.ts';
import { JOINED } from '../text/apart.ts';
import { parseDocumentText } from '../text/frontmatter.ts';
import { isOneLine } from '../text/quoted.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';
import { linesOf, recipientsIn, switchIn, wrongIn } from './fields.ts';

/** Source of a subscription: an answer of an actor, or an event of a name. */
export interface Source {
  kind: 'answer' | 'event';
  name: string;
}

/** Condition on a text. */
export type Match =
  /** A word, or several, in any case. */
  | { kind: 'word'; word: string }
  /** A regular expression, which may be invalid. */
  | { kind: 'pattern'; source: string; flags: string };

/** A task that is sent when an answer or an event arrives (automation.md): a file of `local/subscriptions/`. */
export interface Subscription {
  /** Stem of its file's name. */
  name: string;
  source: Source;
  to: Address[];
  /** The sender of its tasks, to whom their answers go. */
  from: string;
  /** Id or name of the channel; undefined for that of the answer, or the default one for an event. */
  channel?: string;
  tier?: string;
  /** Whether it fires only once, until its file is changed. */
  once: boolean;
  /** The alias of the host that fires; undefined for the host of the answer or event. */
  host?: string;
  match?: Match;
  enabled: boolean;
  /** Text of the task before the payload; it may be empty. */
  body: string;
}

/** Default sender of its tasks: nobody's name, so that the answer wakes nobody. */
export const SUBSCRIPTION_SENDER = 'subscription';

/** Most characters of a `match`, so that comparing costs little. */
const MOST_MATCH = 200;
const SOURCE = /^(answer|event):(\S+)$/;
const PATTERN = /^\/(.+)\/([a-z]*)$/s;

/** Parses the value of `source`: `answer:<actor>` or `event:<name>`. */
function parseSource(text: unknown): Source | undefined {
  const [, kind, name] = SOURCE.exec(typeof text === 'string' ? text.trim() : '') ?? [];
  return isName(name) ? { kind: kind as Source['kind'], name } : undefined;
}

/** Formats a source in the form that `parseSource` reads. */
export function formatSource({ kind, name }: Source): string {
  return `${kind}:${name}`;
}

/**
 * Parses a file of `local/subscriptions/`, or returns every problem found in it, each with its line and value.
 *
 * @param name the stem of the file's name
 */
export function parseSubscription(text: string, name: string): Parsed<Subscription> {
  if (!isName(name)) return unreadable(`its file is called ${shown(name)}, expected a name`);
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { fields, body } = document.value;
  const problems: string[] = [];
  const wrong = wrongIn(text, fields, problems);
  const source = parseSource(fields['source']);
  if (source === undefined) wrong('source', 'answer:<actor> or event:<name>');
  const to = recipientsIn(fields['to']);
  if (to === undefined) wrong('to', 'a name, name@host, all, or a list of these');
  const { channel, tier, host, from = SUBSCRIPTION_SENDER } = fields;
  if (!isSender(from) || from === EVERYONE)
    wrong('from', `a name other than ${EVERYONE}, as the answers go there`);
  if (channel !== undefined && !isOneLine(channel)) wrong('channel', 'the name or id of a channel');
  if (tier !== undefined && !isTier(tier)) wrong('tier', 'a tier name');
  if (host !== undefined && !isName(host)) wrong('host', 'the alias of the host that fires');
  if (host !== undefined && source?.kind === 'event')
    problems.push(
      `${linesOf(text, ['host'])}host is ${shown(host)}, but an event fires where it is published; leave host out`,
    );
  const once = switchIn(fields, 'once', 'false', wrong);
  const enabled = switchIn(fields, 'enabled', 'true', wrong);
  const match = fields['match'] === undefined ? undefined : matchIn(fields['match']);
  if (fields['match'] !== undefined && match === undefined)
    wrong(
      'match',
      `a word, or /regex/ with the flags i, m and s, at most ${String(MOST_MATCH)} characters`,
    );
  if (problems.length > 0 || source === undefined || to === undefined)
    return unreadable(...problems);
  return parsed({
    name,
    source,
    to,
    from: from as string,
    ...(channel !== undefined && { channel: channel as string }),
    ...(tier !== undefined && { tier: tier as string }),
    once,
    ...(host !== undefined && { host: host as string }),
    ...(match !== undefined && { match }),
    enabled,
    body,
  });
}

function matchIn(value: unknown): Match | undefined {
  if (!isOneLine(value) || value.length > MOST_MATCH) return undefined;
  if (!value.startsWith('/')) return { kind: 'word', word: value.trim() };
  const [, source, flags = ''] = PATTERN.exec(value.trim()) ?? [];
  if (source === undefined || /[^ims]/.test(flags)) return undefined;
  return { kind: 'pattern', source, flags };
}

const WORD_BEFORE = new RegExp(`(?:${JOINED}|_)$`, 'u');
const WORD_AFTER = new RegExp(`^(?:${JOINED}|_)`, 'u');

/** Whether a text contains a word that is not part of a longer one; the case does not matter. */
export function hasWord(text: string, word: string): boolean {
  const [whole, wanted] = [text.toLowerCase(), word.toLowerCase()];
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + 1)) {
    // A character may be two units long.
    const before = whole.slice(Math.max(0, at - 2), at);
    const end = at + wanted.length;
    const after = whole.slice(end, end + 2);
    const isCut =
      (WORD_BEFORE.test(before) && WORD_AFTER.test(wanted)) ||
      (WORD_AFTER.test(after) && WORD_BEFORE.test(wanted));
    if (!isCut) return true;
  }
  return false;
}

/** Renders a subscription's recipients in the form of a message's `to`. */
export function subscribersOf({ to }: Pick<Subscription, 'to'>): string {
  return to.map(formatAddress).join(', ');
}
