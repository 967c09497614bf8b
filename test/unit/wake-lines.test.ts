import { expect, it } from 'vitest';
import { parseAnswer, parseRequest } from '../../src/dispatcher/socket/wake-lines.ts';

it('an answer of the dispatcher’s socket is taken apart as hostile text', () => {
  const whole = { pid: 12, tip: 'abc', outcomes: { a: { published: true } } };
  expect(parseAnswer(JSON.stringify(whole))).toEqual(whole);
  for (const line of [
    '',
    'pid',
    '[]',
    'null',
    '{}',
    '{"pid":"12"}',
    '{"pid":1.5}',
    '{"pid":1e400}',
  ])
    expect(parseAnswer(line), line).toBeUndefined();
  const odd = {
    pid: 12,
    tip: 7,
    outcomes: {
      a: { published: 'yes' },
      b: { published: false, failure: { kind: 'of a later version', reason: 'because' } },
      c: { published: false, failure: { kind: 'held' } },
      d: null,
    },
  };
  expect(parseAnswer(JSON.stringify(odd))).toEqual({
    pid: 12,
    outcomes: { b: { published: false, failure: { kind: 'other', reason: 'because' } } },
  });
});

it('a request of the socket is one of those we know, or nothing', () => {
  expect(parseRequest('{"op":"publish","ids":["a",1,"a"]}')).toEqual({ op: 'publish', ids: ['a'] });
  for (const line of ['{"op":"news"}', '{"op":"publish","ids":"a"}', '{"op":"exec"}', '7'])
    expect(parseRequest(line), line).toBeUndefined();
});
