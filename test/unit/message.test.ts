import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMessage, parseMessage, type Message } from '../../src/protocol/message.ts';
import { message as anyMessage } from '../support/arbitraries.ts';
import { fixtures } from '../support/fixtures.ts';

const parse = (text: string): ReturnType<typeof parseMessage> => parseMessage(Buffer.from(text));
const header = 'from: a\nto: b\ntype: text\ntimestamp: 2026-06-09T19:00:00.000Z\n';

it('parsing what was formatted gives the message back, whatever it holds', () => {
  fc.assert(
    fc.property(anyMessage(), (message) => {
      expect(parse(formatMessage(message))).toEqual({ ok: true, value: message });
    }),
    { numRuns: 500 },
  );
});

it('any bytes at all are either a message or malformed, never an exception', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.string(),
      fc.boolean(),
      (bytes, text, fenced) => {
        parseMessage(bytes);
        parse(fenced ? `---\n${text}\n---\n` : text);
      },
    ),
    { numRuns: 500 },
  );
});

describe.each(['malformed', 'hostile'])('every file of fixtures/messages/%s', (folder) => {
  it.each(readdirSync(join(fixtures, folder)))(
    '%s is malformed, twice, and runs nothing',
    (name) => {
      const canary = join(process.env['HOME'] ?? '', 'canary');
      process.env['CROSSTALK_CANARY'] = canary;
      const bytes = readFileSync(join(fixtures, folder, name));
      const first = parseMessage(bytes);
      expect(first.ok).toBe(false);
      expect(parseMessage(bytes)).toEqual(first);
      expect(existsSync(canary)).toBe(false);
    },
  );
});

it.each(readdirSync(join(fixtures, 'valid')))('%s is a message', (name) => {
  expect(parseMessage(readFileSync(join(fixtures, 'valid', name)))).toMatchObject({ ok: true });
});

it('unknown fields are kept as they were written, also those that name prototypes', () => {
  const parsed = parseMessage(readFileSync(join(fixtures, 'valid', 'unknown-fields.md')));
  const { extra } = (parsed as { value: Message }).value;
  expect(Object.entries(extra)).toEqual([
    ['priority', '1e5'],
    ['duration', '1:30'],
    ['__proto__', { polluted: 'yes' }],
    ['constructor', 'x'],
  ]);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});

it('a value that is left out reads as the empty text, however deep, and stays that way', () => {
  const parsed = parse(`---\n${header}x: {p--- yes, q: }\ny: [~, ]\nz:\n---\n\nhi`);
  if (!parsed.ok) throw new Error(parsed.problems.join());
  expect(parsed.value.extra).toEqual({ x: { 'p--- yes': '', q: '' }, y: ['~'], z: '' });
  expect(parse(formatMessage(parsed.value))).toEqual(parsed);
});

it('a tag of YAML changes no value: it stays the text that was written', () => {
  const tagged = 'a: !!binary /w==\nb: !!set {p, q}\nc: !!omap [p: 1]\nd: !!int 5\ne: !x y\n';
  const parsed = parse(`---\n${header}${tagged}---\n\nhi`);
  if (!parsed.ok) throw new Error(parsed.problems.join());
  const values = { a: '/w==', b: { p: '', q: '' }, c: [{ p: '1' }], d: '5', e: 'y' };
  expect(parsed.value.extra).toEqual(values);
  expect(parse(formatMessage(parsed.value))).toEqual(parsed);
});

it('the body is kept byte for byte, without the one blank line after the header', () => {
  const body = (text: string): string => (parse(text) as { value: Message }).value.body;
  expect(body(`---\n${header}---\n\n\n  two\r\n---\n`)).toBe('\n  two\r\n---\n');
  expect(body(`---\n${header}---\nright away`)).toBe('right away');
  expect(body(`---\n${header}---`)).toBe('');
});

it('a file over 1 MiB is malformed, one of exactly 1 MiB is not', () => {
  const start = `---\n${header}---\n\n`;
  const full = start + 'x'.repeat(1024 * 1024 - start.length);
  expect(parse(full).ok).toBe(true);
  expect(parse(`${full}x`)).toEqual({ ok: false, problems: ['larger than 1 MiB: 1048577 bytes'] });
});

it('every problem is named, with the value seen', () => {
  expect(
    parse('---\nfrom: a  b\nto: [x, "y@z@w"]\ntype: text\ntimestamp: soon\nre: /etc\n---\n'),
  ).toEqual({
    ok: false,
    problems: [
      'from is "a  b", expected a name',
      'to is "["x","y@z@w"]", expected a name, name@host, all, or a list of these',
      'timestamp is "soon", expected ISO 8601 UTC',
      're is "/etc", expected a message path or a list of them',
    ],
  });
});

describe('a field of talk.md', () => {
  const withField = (field: string): Message => {
    const read = parse(`---\n${header}${field}\n---\n\nbody\n`);
    return (read as { value: Message }).value;
  };

  it('is read as what it means, whatever its type in YAML', () => {
    expect(withField('asks: true').asks).toBe(true);
    expect(withField('asks: "true"').asks).toBe(true);
    expect(withField('options:\n  - yes\n  - "no, never"').options).toEqual(['yes', 'no, never']);
    const letter = 'reason: exit_code\n  attempts: 3\n  host: b\n  dead_letter: 01J';
    expect(withField(`failed:\n  ${letter}`).failed).toEqual({
      reason: 'exit_code',
      attempts: 3,
      host: 'b',
      dead_letter: '01J',
    });
  });

  it.each([
    'asks: false',
    'asks: [true]',
    'interim: yes',
    'options: red',
    'options: []',
    `options: ["${'x'.repeat(201)}"]`,
    'final: ../../x.md',
    'failed: true',
    'failed: { reason: x, attempts: many, host: b, dead_letter: y }',
    'cancels: [2026/06/09/190000000Z-00000000.md]',
    'steers: ../../x.md',
    'steers: [2026/06/09/190000000Z-00000000.md]',
    'steered: []',
    'steered: [{ message: 2026/06/09/190000000Z-00000000.md, how: twice, run: x }]',
  ])('%s cannot be read: it means nothing, and is kept', (field) => {
    const [key = ''] = field.split(':');
    const message = withField(field);
    expect(message).not.toHaveProperty(key);
    expect(message.extra).toHaveProperty(key);
  });
});
