import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readSubscription } from '../../src/bus/automation/subscriptions.ts';
import { Subscriptions } from '../../src/dispatcher/automation/subscriptions.ts';
import type { Message } from '../../src/protocol/message.ts';
import { hasWord } from '../../src/protocol/automation/subscription.ts';

const file = (header: Record<string, string>, body = 'look at this\n'): string => {
  const lines = Object.entries({ source: 'answer:coder', to: 'tester', ...header });
  return `---\n${lines.map(([key, value]) => `${key}: ${value}`).join('\n')}\n---\n${body}`;
};

const problemsOf = async (text: string): Promise<readonly string[]> => {
  const result = await readSubscription(text, 'review');
  return result.ok ? [] : result.problems;
};

it('a subscription is read with what it says and what it leaves out', async () => {
  expect(await readSubscription(file({}), 'review')).toEqual({
    ok: true,
    value: {
      name: 'review',
      source: { kind: 'answer', name: 'coder' },
      to: [{ name: 'tester' }],
      once: false,
      enabled: true,
      from: 'subscription',
      body: 'look at this\n',
    },
  });
  const rich = { source: 'event:build', to: '[tester@lab, all]', once: 'true', tier: 'deep' };
  expect(await readSubscription(file({ ...rich, channel: 'ops' }), 'review')).toMatchObject({
    ok: true,
    value: {
      source: { kind: 'event', name: 'build' },
      to: [{ name: 'tester', host: 'lab' }, { name: 'all' }],
      ...{ once: true, tier: 'deep', channel: 'ops' },
    },
  });
});

it('every problem of a subscription is one sentence with its line and value', async () => {
  const wrong = { source: 'reply:coder', to: 'no one', once: 'yes', host: 'a b', match: '/a/g' };
  expect(await problemsOf(file(wrong))).toEqual([
    'line 2: source is "reply:coder", expected answer:<actor> or event:<name>',
    'line 3: to is "no one", expected a name, name@host, all, or a list of these',
    'line 5: host is "a b", expected the alias of the host that fires',
    'line 4: once is "yes", expected true or false',
    'line 6: match is "/a/g", expected a word, or /regex/ with the flags i, m and s, at most 200 characters',
  ]);
  expect(await problemsOf(file({ source: 'event:build', host: 'lab' }))).toEqual([
    'line 4: host is "lab", but an event fires where it is published; leave host out',
  ]);
  expect(await problemsOf('no header\n')).toHaveLength(1);
});

it('what cannot run in linear time, or is too large, is refused with the reason', async () => {
  const start = 'expected a regular expression that runs in linear time: ';
  for (const [match, why] of [
    ['/(a)\\1/', 'invalid escape sequence: `\\1`'],
    ['/a(?=b)/', 'invalid or unsupported Perl syntax: `(?=`'],
    ['/(/', 'missing closing ): `(`'],
    ['/.{600}/', 'it is too large; repeat less'],
  ] as const)
    expect((await problemsOf(file({ match: `'${match}'` })))[0]).toContain(start + why);
});

it('expressions that take other engines for ever are over at once', async () => {
  const result = await readSubscription(file({ match: "'/^(a*)*(a|a)*$/'" }), 'review');
  if (!result.ok) throw new Error(result.problems.join());
  expect(result.value.test?.(`${'a'.repeat(60_000)}!`)).toBe(false);
  expect(result.value.test?.('aaa')).toBe(true);
});

it('an expression has the flags that it names', async () => {
  const testing = async (match: string, text: string): Promise<boolean | undefined> => {
    const result = await readSubscription(file({ match: `'${match}'` }), 'review');
    return result.ok ? result.value.test?.(text) : undefined;
  };
  expect(await testing('/red$/', 'a RED\nbuild')).toBe(false);
  expect(await testing('/red$/im', 'a RED\nbuild')).toBe(true);
  expect(await testing('/a.b/', 'a\nb')).toBe(false);
  expect(await testing('/a.b/s', 'a\nb')).toBe(true);
});

it('a word is found only as a whole word, in whatever case', () => {
  expect(hasWord('The build FAILED.', 'failed')).toBe(true);
  expect(hasWord('unfailed, failedly, failed_x', 'failed')).toBe(false);
  expect(hasWord('überfailed failed', 'failed')).toBe(true);
  expect(hasWord('it is [red]!', '[red]')).toBe(true);
});

it('no text makes the parser throw', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), async (match, body) => {
      const header = `---\nsource: answer:a\nto: b\nmatch: ${JSON.stringify(match)}\n---\n`;
      const result = await readSubscription(header + body, 'x');
      if (result.ok) result.value.test?.(body);
    }),
  );
});

it('other work goes on between the comparisons that an answer asks for', async () => {
  const seen: string[] = [];
  const [asked, relPath] = [
    '2026/01/01/000000000Z-00000000.md',
    '2026/01/01/000000001Z-00000001.md',
  ];
  const message = (said: Partial<Message>): Message => ({
    ...{ from: 'a', to: [], type: 'text', timestamp: '2026-01-01T00:00:00Z', re: [], cause: [] },
    ...{ extra: {}, body: '', ...said },
  });
  const parsed = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => {
      const result = await readSubscription(file({ source: 'answer:a' }), name);
      if (!result.ok) throw new Error(result.problems.join());
      const test = (): boolean => {
        seen.push(name);
        setImmediate(() => seen.push('other work'));
        return false;
      };
      return {
        ...{ name, path: name, oid: name, text: '' },
        result: { ...result, value: { ...result.value, test } },
      };
    }),
  );
  const subscriptions = new Subscriptions({
    files: { at: () => Promise.resolve({ files: parsed, beyond: 0 }) },
    reader: {
      chain: () =>
        Promise.resolve((ref) => (ref === asked ? message({ from: 'anna' }) : undefined)),
      channels: () => Promise.resolve([]),
      text: () => Promise.resolve(undefined),
    },
    suffixOf: () => '0'.repeat(16),
    log: () => undefined,
  });
  const answer = { relPath, channel: 'c', message: message({ re: [asked] }) };
  expect(await subscriptions.following('front', 'tip', [answer], () => true)).toEqual([]);
  expect(seen.join()).toMatch(/^one,other work,two,other work,three$/);
});
