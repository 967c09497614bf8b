import { expect, it } from 'vitest';
import { NamesRoom } from '../../src/bus/names-room.ts';
import { seenFrom } from '../../src/protocol/causality.ts';
import type { Located } from '../../src/protocol/message.ts';

const id = (digit: string): string => `${digit.repeat(8)}-0000-4000-8000-000000000000`;
const relPath = '2026/01/01/000000000Z-aaaaaaaa.md';

it('messages that name hundreds of others are kept in memory only so far, those that name a few always', () => {
  const room = new NamesRoom();
  const many = { re: [], cause: Array.from({ length: 700 }, () => relPath) };
  const taken = Array.from({ length: 5000 }, () => room.takes(many)).filter(Boolean);
  expect(taken).toHaveLength(Math.floor(1_000_000 / 700));
  expect(room.takes({ re: [relPath], cause: [] })).toBe(true);
  room.gives(many);
  expect([room.takes(many), room.takes(many)]).toEqual([true, false]);
});

it('one content that stands under many paths is looked through once for what it names elsewhere', () => {
  const message = {
    from: 'a',
    to: [{ name: 'b' }],
    type: 'text',
    timestamp: '2026-01-01T00:00:00Z',
    re: [],
    cause: [],
    origin: [`${id('1')}/${relPath}`, `${id('2')}/${relPath}`],
    extra: {},
    body: '',
  };
  const at = (path: string): Located => ({ relPath: path, message });
  const one = seenFrom(id('1'), id('1'), at('2026/01/01/000000000Z-bbbbbbbb.md'));
  const other = seenFrom(id('1'), id('1'), at('2026/01/01/000000000Z-cccccccc.md'));
  expect(one.message.cause).toEqual([relPath, `${id('2')}/${relPath}`]);
  expect(other.message.cause).toBe(one.message.cause);
  const elsewhere = seenFrom(id('2'), id('1'), one);
  expect(elsewhere.message.cause).toEqual([`${id('1')}/${relPath}`, relPath]);
  expect(seenFrom(id('2'), id('1'), one).relPath).toBe(`${id('1')}/${one.relPath}`);
});
