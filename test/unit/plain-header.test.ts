import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseFields } from '../../src/protocol/text/frontmatter.ts';
import { formatPlainHeader, parsePlainHeader } from '../../src/protocol/text/frontmatter.ts';

const word = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[A-Za-z0-9/][A-Za-z0-9/._@+:-]{0,8}$/) },
  fc.stringMatching(/^[A-Za-z0-9/._@+:#,&*!|>%`'"{}[\]? ~-]{0,12}$/),
  fc.constantFrom(
    'null',
    'true',
    '1:30',
    '2026-06-09T19:00:00.000Z',
    '0x1f',
    '1e5',
    'a: b',
    '~',
    '-',
    '---',
    '...',
  ),
);
const line = fc.oneof(
  fc
    .tuple(fc.constantFrom('from', 'to', 're', 'x1', 'created_at', '__proto__', 'a-b'), word)
    .map(([key, value]) => `${key}: ${value}`),
  fc.constantFrom('from:', 'to:', 're:', 're: ', ' x', '# note', ''),
  word.map((value) => `  - ${value}`),
);

it('a header that is read as plain words is read so by YAML', () => {
  let plain = 0;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
      const header = `${lines.join('\n')}\n`;
      const fields = parsePlainHeader(header);
      if (fields === undefined) return;
      plain++;
      expect(fields).toEqual(parseFields(header));
    }),
    { numRuns: 20_000 },
  );
  expect(plain).toBeGreaterThan(500);
});

it('what we write is read as plain words', () => {
  const header =
    'from: a\nto: b@host-1\ntype: text\ntimestamp: 2026-06-09T19:00:00.000Z\nre:\n  - x/1.md\n  - x/2.md\n';
  expect(parsePlainHeader(header)).toEqual({
    from: 'a',
    to: 'b@host-1',
    type: 'text',
    timestamp: '2026-06-09T19:00:00.000Z',
    re: ['x/1.md', 'x/2.md'],
  });
});

const value = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^[A-Za-z][A-Za-z0-9/._@+=-]{0,20}$/) },
  word,
  fc.constantFrom(
    'Null',
    'FALSE',
    'True',
    'nan',
    'inf',
    'yes',
    'off',
    'a:',
    'a=b',
    'x/y.md',
    'a'.repeat(201),
  ),
  fc.constantFrom(
    ...['2026/06/09/190000000Z-1f2e3d4c5b6a.md', '2026-06-09', '2026-06-09T19:00:00Z', '007', ''],
  ),
);
const fields = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        'from',
        'to',
        're',
        'x1',
        'created_at',
        'null',
        'y',
        'a b',
        '__proto__',
        'No',
      ),
      fc.oneof(
        { weight: 6, arbitrary: value },
        { weight: 3, arbitrary: fc.array(value, { maxLength: 3 }) },
        fc.constantFrom(null, true, 7),
      ),
    ),
    { maxLength: 5 },
  )
  .map((entries) => Object.fromEntries(entries));

it('a header that is written as plain words is written so by YAML, and read back', () => {
  let plain = 0;
  fc.assert(
    fc.property(fields, (header) => {
      const text = formatPlainHeader(header);
      if (text === undefined) return;
      plain++;
      expect(text).toBe(stringify(header, { lineWidth: 0, version: '1.2' }));
      expect(parseFields(text)).toEqual(header);
    }),
    { numRuns: 20_000 },
  );
  expect(plain).toBeGreaterThan(500);
});
