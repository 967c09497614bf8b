import { expect, it } from 'vitest';
import { z } from 'zod';
import { takenOf } from '../../src/mcp/kit/call.ts';

const input = z.strictObject({
  to: z.string().min(1),
  options: z.array(z.string()).optional(),
  limit: z.number().int().optional(),
  now: z.boolean().optional(),
  option: z.string().optional(),
  schema: z.record(z.string(), z.unknown()).optional(),
});

it.each([
  ['null for no arguments', null, {}],
  ['nothing for no arguments', undefined, {}],
  [
    'null and empty text for what is left out',
    { to: 'a', limit: null, option: '', options: null },
    { to: 'a' },
  ],
  ['a list as text', { to: 'a', options: '["x", "y"]' }, { to: 'a', options: ['x', 'y'] }],
  ['one text for a list', { to: 'a', options: 'x, y' }, { to: 'a', options: ['x, y'] }],
  [
    'numbers and booleans as text',
    { to: 'a', limit: '5', now: 'true' },
    { to: 'a', limit: 5, now: true },
  ],
  ['booleans as Python writes them', { to: 'a', now: 'False' }, { to: 'a', now: false }],
  ['a number for text', { to: 'a', option: 2 }, { to: 'a', option: '2' }],
  [
    'an object as text',
    { to: 'a', schema: '{"type":"object"}' },
    { to: 'a', schema: { type: 'object' } },
  ],
  ['text that is JSON where text is meant', { to: '["a"]' }, { to: '["a"]' }],
  ['a value that fits in no form', { to: 'a', limit: 'many' }, { to: 'a', limit: 'many' }],
  ['an object for text', { to: {} }, { to: {} }],
])('arguments are taken as clients send them: %s', (_what, given, members) => {
  expect(takenOf(input, given)).toEqual({ members, notes: [] });
});

it('what is needed is not left out, however it is written', () => {
  expect(takenOf(input, { to: '' })?.members).toEqual({ to: '' });
  expect(takenOf(input, { to: null })?.members).toEqual({ to: null });
  expect(takenOf(input, ['a'])).toBeUndefined();
});

it('arguments of a client’s own are passed over, and named', () => {
  expect(takenOf(input, { to: 'a', wait_for_previous: true })).toEqual({
    members: { to: 'a' },
    notes: ['"wait_for_previous" was passed over: there is no such argument'],
  });
});
