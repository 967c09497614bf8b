import fc from 'fast-check';
import { anyText } from '../../support/any-text.ts';
import { expect, it } from 'vitest';
import { clean } from '../../../src/chat/clean.ts';
import { broken, cut, fit, widthOf, wrap } from '../../../src/chat/columns.ts';
import { erase, insert, inputRows, move, typed, vertical } from '../../../src/chat/editing.ts';
import { Keyboard } from '../../../src/chat/terminal.ts';
import type { Key } from '../../../src/chat/model.ts';

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  anyText(),
  fc.constantFrom('日本語のテキスト', '👩‍👩‍👧 family', 'שלום עולם', 'a\u0301\u0302b', '    code  here'),
);

it('whatever a text holds, what is cut, fitted or wrapped takes no more columns than there are', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 40 }), (raw, width) => {
      const shown = clean(raw);
      expect(widthOf(cut(shown.replaceAll('\n', ' '), width))).toBeLessThanOrEqual(width);
      expect(widthOf(fit(shown.replaceAll('\n', ' '), width))).toBe(width);
      for (const line of [...wrap(shown, width), ...broken(shown.replaceAll('\n', ''), width)])
        expect(widthOf(line)).toBeLessThanOrEqual(width);
    }),
  );
});

it('wrapping keeps every word, and the indentation that a line begins with', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('    indented code', 20)).toEqual(['    indented code']);
  expect(wrap('a\n\nb', 5)).toEqual(['a', '', 'b']);
  expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  expect(wrap('日本語', 4)).toEqual(['日本', '語']);
  const word = fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'ü', '日') });
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1 }),
      fc.integer({ min: 2, max: 30 }),
      (words, width) => {
        expect(wrap(words.join(' '), width).join('').replaceAll(' ', '')).toBe(words.join(''));
      },
    ),
  );
});

it('nothing of a cleaned text steers a terminal or hides', () => {
  const hostile = '\u001b[2Ja\u0007\u009b31mb\u202ec\u2066d\u00ade\u200b\u{e0041}f\r\tg\u2028h';
  expect(clean(hostile)).toBe('[2Ja31mbcdef    g h');
  fc.assert(
    fc.property(anyText(), (raw) => {
      expect(clean(raw)).not.toMatch(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
});

it('the cursor moves and deletes by what a reader takes for characters and words', () => {
  const family = '👩‍👩‍👧';
  const input = typed(`see ${family}`);
  expect(move(input, 'left').cursor).toBe(4);
  expect(erase(input, 'left')).toEqual({ text: 'see ', cursor: 4 });
  expect(erase(typed('one two  '), 'wordLeft')).toEqual({ text: 'one ', cursor: 4 });
  expect(erase({ text: 'one two', cursor: 3 }, 'wordRight')).toEqual({ text: 'one', cursor: 3 });
  expect(erase({ text: 'a\nbcd', cursor: 4 }, 'lineStart')).toEqual({ text: 'a\nd', cursor: 2 });
  expect(insert({ text: 'ac', cursor: 1 }, 'b')).toEqual({ text: 'abc', cursor: 2 });
  fc.assert(
    fc.property(text, text, (before, more) => {
      const start = typed(before);
      const after = insert(start, more);
      expect(after.text.slice(before.length, after.cursor)).toBe(more);
    }),
  );
});

it('up and down go from line to line, and nowhere beyond the first and the last', () => {
  const input = { text: 'first\nab\nthird', cursor: 4 };
  expect(vertical(input, -1)).toBeUndefined();
  const second = vertical(input, 1)!;
  expect(second.cursor).toBe(8);
  expect(vertical(second, 1)!.cursor).toBe(11);
  expect(vertical(typed('x'), 1)).toBeUndefined();
});

it('the cursor stands where the next character will', () => {
  expect(inputRows(typed(''), 10)).toEqual({ rows: [''], row: 0, column: 0 });
  expect(inputRows(typed('日本'), 10)).toMatchObject({ row: 0, column: 4 });
  expect(inputRows(typed('a\nbc'), 10)).toEqual({ rows: ['a', 'bc'], row: 1, column: 2 });
  // The text after a full row continues in the next row.
  expect(inputRows(typed('abcd'), 4)).toEqual({ rows: ['abcd', ''], row: 1, column: 0 });
  expect(inputRows({ text: 'abcdef', cursor: 4 }, 4)).toMatchObject({ row: 1, column: 0 });
});

it('keys are told apart, and what is pasted is one text whose lines send nothing', () => {
  const keys: Key[] = [];
  const keyboard = new Keyboard((key) => keys.push(key));
  keyboard.take('a', { sequence: 'a', name: 'a' });
  keyboard.take('\r', { sequence: '\r', name: 'return' });
  keyboard.take(undefined, { sequence: '\u001b\r', name: 'return', meta: true });
  keyboard.take(undefined, { sequence: '\u001b[13;2u', name: 'undefined' });
  keyboard.take('\u0003', { sequence: '\u0003', name: 'c', ctrl: true });
  keyboard.take(undefined, { sequence: '\u001b[Z', name: 'tab', shift: true });
  keyboard.take('\u001b', { sequence: '\u001b', name: 'escape', meta: true });
  keyboard.take(undefined, { name: 'paste-start' });
  keyboard.take('x', { sequence: 'x', name: 'x' });
  keyboard.take('\r', { sequence: '\r', name: 'return' });
  keyboard.take('\u0003', { sequence: '\u0003', name: 'c', ctrl: true });
  keyboard.take(undefined, { name: 'paste-end' });
  expect(keys).toEqual([
    { name: 'text', text: 'a' },
    { name: 'return', text: '' },
    { name: 'alt-return', text: '' },
    { name: 'alt-return', text: '' },
    { name: 'ctrl-c', text: '' },
    { name: 'shift-tab', text: '' },
    { name: 'escape', text: '' },
    { name: 'text', text: 'x\n\u0003' },
  ]);
});
