import { describe, expect, it } from 'vitest';
import type { Located } from '../../src/protocol/message.ts';
import { steeringsOn, whyNotSteering, withSteerings } from '../../src/protocol/steer.ts';
import { path, said } from '../support/messages.ts';

const question = said(1, 'anna', 'worker');
const more = (n: number, fields: Partial<Located['message']> = {}): Located => {
  const one = said(n, 'anna', 'worker');
  return { ...one, message: { ...one.message, steers: question.relPath, ...fields } };
};

describe('a message for work under way', () => {
  it.each([
    [{}, undefined],
    [{ from: 'eve' }, 'anna asked what it names, and eve wrote it'],
    [{ host: 'mac' }, 'anna asked what it names, and anna@mac wrote it'],
    [{ re: [path(1)] }, 'it is a reply'],
    [{ schema: '{}' }, 'it brings files, options or a schema, which are laid before a run'],
  ])('with %j: %s', (fields, why) => {
    expect(whyNotSteering(more(2, fields).message, question.message, 'worker')).toBe(why);
  });

  it('names a question that is for the actor', () => {
    const { message } = more(2);
    expect(whyNotSteering(message, undefined, 'worker')).toContain('names no message');
    expect(whyNotSteering(message, question.message, 'boss')).toContain('is not for boss');
    const reply = { ...question.message, re: [path(9)] };
    expect(whyNotSteering(message, reply, 'worker')).toContain('is no question');
  });

  it('is found by its question, and by nobody else', () => {
    const forged = more(3, { from: 'eve' });
    expect(steeringsOn(question, 'worker', [more(2), forged, said(4, 'anna', 'worker')])).toEqual([
      more(2),
    ]);
  });

  it('is answered by the final answer if a word on the way has named both, and only then', () => {
    const plan = { to: { name: 'anna' }, re: [question.relPath], answers: true };
    const word = said(5, 'worker', 'anna', { re: [1, 2] });
    const interim = { ...word, message: { ...word.message, interim: true as const } };
    const channel = [more(2), more(3), interim];
    const [whole] = withSteerings([plan], 'worker', channel, new Set());
    expect(whole?.re).toEqual([path(1), path(2)]);
    expect(withSteerings([plan], 'worker', channel, new Set([path(2)]))).toEqual([plan]);
    expect(withSteerings([plan], 'worker', [more(2)], new Set())).toEqual([plan]);
  });
});
