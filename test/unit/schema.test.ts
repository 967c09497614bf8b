import { expect, it } from 'vitest';
import { schemaIn, unfenced } from '../../src/protocol/schema.ts';
import { fitOf, schemaText } from '../../src/runner/schema.ts';

it.each([
  ['{"a": 1}', '{"a": 1}'],
  ['```json\n{"a": 1}\n```', '{"a": 1}'],
  ['\n```\n[1,\n2]\n```\n\n', '[1,\n2]'],
  ['````JSON\r\n"```"\r\n````', '"```"'],
  ['text\n```json\n1\n```', 'text\n```json\n1\n```'],
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
