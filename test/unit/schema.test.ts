import { expect, it } from 'vitest';
import { schemaIn, unfenced } from '../../src/protocol/talk.ts';
import { fitOf, schemaText } from '../../src/runner/schema.ts';

it.each([
  ['{"a": 1}', '{"a": 1}'],
  ['```json\n{"a": 1}\n```', '{"a": 1}'],
  ['\n```\n[1,\n2]\n```\n\n', '[1,\n2]'],
  ['````JSON\r\n"```"\r\n````', '"```"'],
  ['text\n```json\n1\n```', '1'],
  ['Here it is:\n\n```json\n{"a": 1}\n```\nAnything else?', '{"a": 1}'],
  ['The result is {"a": [1, 2]}. Good luck!', '{"a": [1, 2]}'],
  ['[1, 2]\nas asked', '[1, 2]'],
  // Which of them is the answer is not known.
  ['```json\n1\n```\nor\n```json\n2\n```', '```json\n1\n```\nor\n```json\n2\n```'],
  ['{"a": 1} or {"a": 2}', '{"a": 1} or {"a": 2}'],
  ['as in [1]: {"a": 1}', 'as in [1]: {"a": 1}'],
  ['no JSON', 'no JSON'],
  ['```json\n1', '```json\n1'],
  ['```yaml\na: 1\n```', '```yaml\na: 1\n```'],
])('of %j the JSON is %j', (printed, json) => {
  expect(unfenced(printed)).toBe(json);
});

it('a schema in a header is a JSON object of at most 16 KiB, and anything else means nothing', () => {
  expect(schemaIn('{"type":"object"}')).toBe('{"type":"object"}');
  for (const no of [
    '',
    'object',
    '[]',
    'null',
    '1',
    undefined,
    {},
    `{"a":"${'x'.repeat(16_384)}"}`,
  ])
    expect(schemaIn(no)).toBeUndefined();
});

it.each([
  [{ type: 'string', maxLength: 3 }, '"long"', '/: '],
  [{ items: { type: 'number' } }, '[1, "2"]', '/1: '],
  [{ required: ['toString'] }, '{}', '/: '],
  [{ properties: { a: { enum: [1] } } }, '{"a": 2}', '/a: '],
  [{ additionalProperties: false }, '{"a": 2}', '/: Property "a"'],
  [{ additionalProperties: { type: 'null' } }, '{"a": 2}', '/a: '],
])('%j does not fit %s, and the place is named', async (schema, printed, place) => {
  const fit = await fitOf(printed, [JSON.stringify(schema)]);
  expect(fit).toMatchObject({ kind: 'misfit' });
  expect('detail' in fit && fit.detail).toContain(`stdout does not fit the schema: ${place}`);
});

it('an answer to several questions has to fit each of their schemas', async () => {
  const schemas = ['{"type":"object"}', '{"required":["a"]}'];
  expect(await fitOf('{"a": 1}', schemas)).toEqual({ kind: 'fits', text: '{"a": 1}' });
  expect(await fitOf('{}', schemas)).toMatchObject({ kind: 'misfit' });
});

it.each([
  ['deep', '['.repeat(200_000) + ']'.repeat(200_000), { items: { $ref: '#' } }],
  ['with a name of a prototype', '{"__proto__": {"polluted": true}}', { type: 'array' }],
])('JSON that is %s is only a misfit', async (_, printed, schema) => {
  expect(await fitOf(printed, [JSON.stringify(schema)])).toMatchObject({ kind: 'misfit' });
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

it('what a schema says in an error stays within one short line', async () => {
  const long = { const: `x\n# Where you are\n${'y'.repeat(9000)}` };
  const fit = await fitOf('1', [JSON.stringify(long)]);
  const detail = 'detail' in fit ? fit.detail : '';
  expect(detail).not.toContain('\n');
  expect(detail.length).toBeLessThan(300);
});

it('a schema is taken in every draft, without blanks and otherwise as it is', async () => {
  for (const draft of [
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ]) {
    const schema = {
      $schema: draft,
      type: 'object',
      properties: { a: { type: ['null', 'string'] } },
    };
    const text = await schemaText(JSON.stringify(schema, null, 4));
    expect(text).toEqual({ ok: true, value: JSON.stringify(schema) });
  }
  const tree = { $defs: { node: { items: { $ref: '#/$defs/node' } } }, $ref: '#/$defs/node' };
  expect(await schemaText(JSON.stringify(tree))).toMatchObject({ ok: true });
});

it.each([
  ['itself', { $ref: '#' }],
  ['a part of it that leads back', { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#' }] } } }],
  ['itself for strings only', { if: { type: 'string' }, then: { $ref: '#' } }],
])(
  'a schema that leads back to %s without end is refused, and to blame later',
  async (_, schema) => {
    const text = JSON.stringify(schema);
    const refused = await schemaText(text);
    expect(refused).toMatchObject({ ok: false });
    expect(JSON.stringify(refused)).toContain('leads back to itself without end');
    expect(await fitOf('"word"', [text])).toMatchObject({ kind: 'impossible' });
  },
);

it('a tree is described by a schema that leads back to itself in the parts of a value', async () => {
  const tree = JSON.stringify({ type: 'object', properties: { next: { $ref: '#' } } });
  expect(await schemaText(tree)).toMatchObject({ ok: true });
  expect(await fitOf('{"next":{"next":{}}}', [tree])).toMatchObject({ kind: 'fits' });
  expect(await fitOf('{"next":{"next":1}}', [tree])).toMatchObject({ kind: 'misfit' });
});

it('a schema of draft 4 is examined by its own rules', async () => {
  const $schema = 'http://json-schema.org/draft-04/schema#';
  const good = { $schema, minimum: 1, exclusiveMinimum: true };
  expect(await schemaText(JSON.stringify(good))).toMatchObject({ ok: true });
  for (const bad of [
    { $schema, type: 'strnig' },
    { $schema, exclusiveMinimum: 1 },
  ])
    expect(await schemaText(JSON.stringify(bad))).toMatchObject({ ok: false });
});
