import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { linesOfFile } from '../../src/runner/raw-output.ts';

it.each([
  ['with an end', 'one\ntwo\n', ['one', 'two']],
  ['without one', 'one\ntwo', ['one', 'two']],
  [
    'that are longer than is read at a time',
    `${'x'.repeat(3_000_000)}\ny`,
    ['x'.repeat(3_000_000), 'y'],
  ],
  ['of which there are none', '', []],
])('all lines of an output are read, %s', async (_how, text, lines) => {
  const file = join(mkdtempSync(join(tmpdir(), 'raw-')), 'out');
  writeFileSync(file, text);
  const found: string[] = [];
  for await (const line of linesOfFile(file)) found.push(line);
  expect(found).toEqual(lines);
});
