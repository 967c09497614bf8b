import { hasWord, type Match } from '../../protocol/automation/subscription.ts';
import { shown } from '../../protocol/text/result.ts';

/** Tells of a text whether it contains what was looked for. */
export type Test = (text: string) => boolean;

/** Characters of a text that a regular expression looks at, from its beginning. */
const MOST_TEXT = 65_536;
/**
 * Instructions of a compiled expression: with the length of the text it bounds the time, to about half a
 * second.
 */
const MOST_STEPS = 500;

/**
 * Prepares a comparison that takes a time linear in the text, whatever the expression is.
 *
 * @returns what is wrong with the expression, for people, as `problem`
 */
export async function testOf(match: Match): Promise<{ test: Test } | { problem: string }> {
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
