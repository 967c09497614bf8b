import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  formatDocument,
  parseFields,
  parsePlainHeader,
} from '../../src/protocol/text/frontmatter.ts';

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
  const fields = {
    from: 'a',
    to: 'b@host-1',
    type: 'text',
    timestamp: '2026-06-09T19:00:00.000Z',
    re: ['2026/06/09/190000000Z-1f2e3d4c5b6a.md', 'x/2.md'],
  };
  const header = formatDocument(fields, '')
    .replace(/^---\n/, '')
    .replace(/---\n\n$/, '');
  expect(parsePlainHeader(header)).toEqual(fields);
});
