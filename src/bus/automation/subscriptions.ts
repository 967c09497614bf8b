import { setImmediate as next } from 'node:timers/promises';
import {
  parseSubscription,
  type Subscription,
  hasWord,
  type Match,
} from '../../protocol/automation/subscription.ts';
import { SUBSCRIPTIONS } from '../../protocol/layout.ts';
import { parsed, unreadable, type Parsed, shown } from '../../protocol/text/result.ts';
import type { Transport } from '../../transport/transport.ts';
import { SettingFiles, type SettingFile } from './schedules.ts';

/** A subscription that can be followed, with the compiled comparison of its `match`. */
export interface Subscribed extends Subscription {
  test?: Test;
}

export type SubscriptionFile = SettingFile<Subscribed>;

const MOST_BYTES = 32 * 1024;

export class SubscriptionFiles extends SettingFiles<Subscribed> {
  constructor(transport: Pick<Transport, 'list' | 'objects'>) {
    super(transport, SUBSCRIPTIONS, readSubscription);
  }
}

/**
 * Parses a subscription and prepares its comparison.
 *
 * @param name the stem of the file's name
 */
export async function readSubscription(text: string, name: string): Promise<Parsed<Subscribed>> {
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES)
    return unreadable(`it has ${String(bytes)} bytes, expected at most ${String(MOST_BYTES)}`);
  const result = parseSubscription(text, name);
  if (!result.ok || result.value.match === undefined) return result;
  const made = await testOf(result.value.match);
  return 'problem' in made ? unreadable(made.problem) : parsed({ ...result.value, ...made });
}

/** Returns the subscriptions whose comparison matches a text. Each takes time, so other work runs in between. */
export async function matched(
  subscriptions: readonly Subscribed[],
  text: string,
): Promise<Subscribed[]> {
  const passed: Subscribed[] = [];
  for (const one of subscriptions) {
    if (one.test !== undefined) await next();
    if (one.test?.(text) !== false) passed.push(one);
  }
  return passed;
}

/** A test of whether a text matches. */
type Test = (text: string) => boolean;

/** Characters at the start of a text that a regular expression examines. */
const MOST_TEXT = 65_536;
/**
 * Maximum instructions of a compiled expression: with the length of the text it limits the time, to about
 * half a second.
 */
const MOST_STEPS = 500;

/**
 * Compiles a comparison that takes a time linear in the text, whatever the expression is.
 *
 * @returns as `problem`, the error in the expression, for people
 */
async function testOf(match: Match): Promise<{ test: Test } | { problem: string }> {
  if (match.kind === 'word') return { test: (text) => hasWord(text, match.word) };
  const { RE2JS } = await import('./pattern-packages.ts');
  const given = `match is ${shown(`/${match.source}/${match.flags}`)}, expected a regular expression that runs in linear time`;
  try {
    const { CASE_INSENSITIVE, MULTILINE, DOTALL } = RE2JS;
    const bits = Object.entries({ i: CASE_INSENSITIVE, m: MULTILINE, s: DOTALL });
    const flags = bits.filter(([flag]) => match.flags.includes(flag));
    const compiled = RE2JS.compile(
      match.source,
      flags.reduce((all, [, bit]) => all | bit, 0),
    );
    if (compiled.programSize() > MOST_STEPS)
      return { problem: `${given}: it is too large; repeat less` };
    return { test: (text) => compiled.test(text.slice(0, MOST_TEXT)) };
  } catch (error) {
    const [, why = 'it cannot be compiled'] =
      /^error parsing regexp: (.*)$/s.exec(error instanceof Error ? error.message : '') ?? [];
    return { problem: `${given}: ${shown(why).slice(1, -1)}` };
  }
}
