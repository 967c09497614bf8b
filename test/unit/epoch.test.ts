import { expect, it } from 'vitest';
import { splitAt } from '../../src/protocol/epoch.ts';
import type { Lookup } from '../../src/protocol/causality.ts';
import type { Located } from '../../src/protocol/message.ts';
import { path, said } from '../support/messages.ts';

const served = [{ host: 'front', actor: 'worker' }];

function ended(...messages: Located[]): string[] {
  const known = new Map(messages.map(({ relPath, message }) => [relPath, message]));
  const lookup: Lookup = (ref) => known.get(ref);
  return splitAt(messages, '2026/06/10', served, false, { others: [], lookup, staying: [] }).ended;
}

it('a conversation that began with a message to all has ended once each actor has answered', () => {
  const question = said(1, 'anna', 'all');
  expect(ended(question)).toEqual([]);
  expect(ended(question, said(2, 'worker', 'anna', { re: [1], host: 'front' }))).toEqual([
    path(1),
    path(2),
  ]);
});

it('a conversation in which a person was asked has ended once that person has answered', () => {
  const question = said(1, 'worker', 'bob', { host: 'front' });
  expect(ended(question)).toEqual([]);
  expect(ended(question, said(2, 'bob', 'worker', { re: [1] }))).toEqual([path(1), path(2)]);
});
