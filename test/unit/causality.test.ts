import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { activation } from '../../src/protocol/activation.ts';
import { formatAddress, parseRecipients } from '../../src/protocol/address.ts';
import { depthOf, isQuestion, openQuestions } from '../../src/protocol/causality.ts';
import type { Located } from '../../src/protocol/message.ts';
import { answeredOn, awaitsPeers, mayBeSilent, unanswered } from '../../src/protocol/pending.ts';
import { answerMessages, planAnswers, sendMessages } from '../../src/protocol/reply.ts';
import { threadOf } from '../../src/protocol/thread.ts';
import { lookupIn, path, said } from '../support/messages.ts';

const at = new Date('2026-06-09T20:00:00Z');

/** An operator asks a coordinator, which asks two workers; the first one answers. */
const question = said(1, 'operator', 'boss');
const task1 = said(2, 'boss', 'w1', { cause: [1], host: 'front' });
const task2 = said(3, 'boss', 'w2', { cause: [1], host: 'front' });
const answer1 = said(4, 'w1', 'boss@front', { re: [2], host: 'back' });
const answer2 = said(5, 'w2', 'boss@front', { re: [3], host: 'back' });
const fanOut = [question, task1, task2, answer1, answer2];
const lookup = lookupIn(fanOut);

describe('activation', () => {
  const senders = (relPath: string): string | undefined => lookup(relPath)?.from;
  const clause = ({ message }: Located, actor: string, host = 'front'): string =>
    activation(message, actor, host, senders).clause;
  it.each([
    ['a task wakes its addressee', said(9, 'a', 'b'), 'b', 'new_task'],
    ['an answer wakes who asked', answer1, 'boss', 'answers_addressee'],
    [
      'an answer wakes nobody else, although addressed',
      said(9, 'w1', 'w2', { re: [2] }),
      'w2',
      'answers_others',
    ],
    [
      'one matching entry of several is enough',
      said(9, 'w1', 'boss', { re: [1, 2] }),
      'boss',
      'answers_addressee',
    ],
    [
      'an answer to something missing wakes nobody',
      said(9, 'w1', 'boss', { re: [77] }),
      'boss',
      'answers_others',
    ],
    ['a message never wakes its sender', said(9, 'b', 'b'), 'b', 'own_message'],
    [
      'nor its sender on another host',
      said(9, 'b', 'b@front', { host: 'back' }),
      'b',
      'own_message',
    ],
    ['nobody who is not addressed', said(9, 'a', 'c'), 'b', 'not_addressed'],
    ['all includes everybody', said(9, 'a', 'all'), 'b', 'new_task'],
    ['another host is another host', said(9, 'a', 'b@back'), 'b', 'other_host'],
    ['a bare name beside a narrowed one reaches', said(9, 'a', 'b@back,b'), 'b', 'new_task'],
    ['another type wakes nobody', said(9, 'a', 'b', { type: 'event' }), 'b', 'not_text'],
  ])('%s', (_, message, actor, expected) => {
    expect(clause(message, actor)).toBe(expected);
  });
});

describe('open questions', () => {
  const open = (delivered: Located, actor: string, all: Located[] = fanOut): string[] =>
    openQuestions(delivered, actor, lookupIn([...all, delivered])).map(
      ({ relPath, asker }) => `${relPath} ${asker}`,
    );

  it('of a task are the task itself', () => {
    expect(open(question, 'boss')).toEqual([`${path(1)} operator`]);
  });
  it('of a worker’s answer are what its coordinator was asked', () => {
    expect(open(answer1, 'boss')).toEqual([`${path(1)} operator`]);
  });
  it('reach through a counter-question', () => {
    const counter = said(6, 'w1', 'boss', { re: [2] });
    const reply = said(7, 'boss', 'w1', { re: [6] });
    expect(open(reply, 'w1', [...fanOut, counter])).toEqual([`${path(2)} boss`]);
    expect(open(counter, 'boss')).toEqual([`${path(1)} operator`]);
  });
  it('are none when the actor began the exchange itself', () => {
    const began = said(6, 'boss', 'w1');
    expect(open(said(7, 'w1', 'boss', { re: [6] }), 'boss', [...fanOut, began])).toEqual([]);
  });
  it('are the reply alone when it asks anew in an old thread, and it is where later walks end', () => {
    const answer = said(6, 'boss', 'operator', { re: [1], host: 'front' });
    const again = said(7, 'bob', 'boss@front', { re: [6], asks: true });
    const task = said(8, 'boss', 'w1', { cause: [7], host: 'front' });
    const part = said(9, 'w1', 'boss@front', { re: [8], host: 'back' });
    const record = [...fanOut, answer, again, task];
    expect(open(again, 'boss', record)).toEqual([`${path(7)} bob`]);
    expect(open(part, 'boss', record)).toEqual([`${path(7)} bob`]);
    const plain = said(7, 'bob', 'boss@front', { re: [6] });
    expect(open(plain, 'boss', [...fanOut, answer])).toEqual([`${path(1)} operator`]);
    expect(depthOf([part], lookupIn([...record, part]))).toBe(3);
    expect(depthOf([plain], lookupIn([...fanOut, answer, plain]))).toBe(3);
  });
  it('survive loops, missing messages and endless chains', () => {
    const loop = [said(1, 'a', 'b', { re: [2] }), said(2, 'b', 'a', { re: [1] })];
    expect(open(loop[0]!, 'b', loop)).toEqual([]);
    const chain = Array.from({ length: 500 }, (_, n) =>
      said(n + 2, n % 2 === 0 ? 'b' : 'a', 'x', { re: [n + 1] }),
    );
    expect(open(chain[499]!, 'b', [said(1, 'a', 'b'), ...chain])).toEqual([]);
  });
  it('never include what the actor itself asked, on any graph', () => {
    const graph = fc.array(
      fc.record({
        from: fc.constantFrom('a', 'b', 'c'),
        re: fc.array(fc.nat(30), { maxLength: 3 }),
        cause: fc.array(fc.nat(30), { maxLength: 3 }),
        asks: fc.boolean(),
      }),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(graph, (nodes) => {
        const all = nodes.map(({ from, re, cause, asks }, n) =>
          said(n, from, 'x', { re, cause, ...(asks && { asks }) }),
        );
        const find = lookupIn(all);
        for (const delivered of all) {
          for (const { relPath } of openQuestions(delivered, 'a', find)) {
            expect(find(relPath)).toSatisfy(isQuestion);
            expect(find(relPath)?.from).not.toBe('a');
          }
        }
      }),
    );
  });
});

const HERE = '3f0c2a52-9f0e-4a57-8f6c-0b7a5f5d2c11';
const IN_A_RUN = { home: HERE, channel: HERE, follows: true };

describe('stdout', () => {
  it('answers each asker once, with every question of theirs in the batch', () => {
    const batch = [said(11, 'x', 'b'), said(12, 'y', 'b', { host: 'mac' }), said(13, 'x', 'b')];
    const plans = planAnswers(batch, 'b', lookupIn(batch));
    const writer = { actor: 'b', host: 'front', at };
    const written = answerMessages(plans, batch, 'text', writer, HERE);
    expect(written.map(({ message: { to, re, cause } }) => ({ to, re, cause }))).toEqual([
      { to: [{ name: 'x' }], re: [path(11), path(13)], cause: [path(11), path(12), path(13)] },
      { to: [{ name: 'y', host: 'mac' }], re: [path(12)], cause: [path(11), path(12), path(13)] },
    ]);
  });
  it('leaves out what has its final answer, as long as another question remains', () => {
    const both = [said(1, 'operator', 'boss'), said(2, 'operator', 'boss')];
    const task = said(3, 'boss', 'w1', { cause: [1, 2] });
    const back = said(4, 'w1', 'boss', { re: [3] });
    const all = lookupIn([...both, task, back]);
    const answered = (...numbers: number[]): string[][] =>
      planAnswers([back], 'boss', all, new Set(numbers.map((n) => path(n)))).map(({ re }) => re);
    expect(answered()).toEqual([[path(1), path(2)]]);
    expect(answered(1)).toEqual([[path(2)]]);
    expect(answered(1, 2)).toEqual([[path(1), path(2)]]);
  });
  it('of a woken coordinator goes to the one who asked it, and records what caused it', () => {
    const plans = planAnswers([answer1], 'boss', lookup);
    const [written] = answerMessages(plans, [answer1], 'x', { actor: 'boss', at }, HERE);
    expect(written?.message).toMatchObject({
      to: [{ name: 'operator' }],
      re: [path(1)],
      cause: [path(4)],
    });
  });
  it('does not repeat its re as cause', () => {
    const plans = planAnswers([question], 'boss', lookup);
    const [written] = answerMessages(plans, [question], 'x', { actor: 'boss', at }, HERE);
    expect(written?.message).toMatchObject({ re: [path(1)], cause: [] });
  });
  it('without an open question is put on record so that it wakes nobody', () => {
    const began = said(6, 'boss', 'w1');
    const reply = said(7, 'w1', 'boss', { re: [6], host: 'back' });
    const all = lookupIn([began, reply]);
    const plans = planAnswers([reply], 'boss', all);
    expect(plans).toEqual([{ to: { name: 'w1', host: 'back' }, re: [path(6)], answers: false }]);
    const [written] = answerMessages(plans, [reply], 'thanks', { actor: 'boss', at }, HERE);
    expect(activation(written!.message, 'w1', 'back', (relPath) => all(relPath)?.from).wakes).toBe(
      false,
    );
  });
});

describe('send during a dispatch', () => {
  const links = (to: string, triggers: Located[], all: Located[] = fanOut): unknown =>
    sendMessages(
      { to: to.split(',').map((name) => ({ name })), body: 'x', triggers, ...IN_A_RUN },
      { actor: 'boss', at },
      lookupIn([...all, ...triggers]),
    ).map(({ message: { to: names, re, cause } }) => [
      names.map(({ name }) => name).join(),
      re,
      cause,
    ]);
  it('to a peer that sent nothing is a new task, caused by what is processed', () => {
    expect(links('w1', [question])).toEqual([['w1', [], [path(1)]]]);
  });
  it('to the asker is an answer to the question', () => {
    expect(links('operator', [question])).toEqual([['operator', [path(1)], []]]);
  });
  it('to the original asker from a later wake reaches back along the chain', () => {
    expect(links('operator', [answer1])).toEqual([['operator', [path(1)], [path(4)]]]);
  });
  it('to both kinds of addressees becomes two messages', () => {
    expect(links('w2,w1', [answer1])).toEqual([
      ['w2', [], [path(4)]],
      ['w1', [path(4)], []],
    ]);
  });
  it('by a bare name goes to the host that asked, and not to a twin elsewhere', () => {
    const send = (to: string, triggers: Located[]): string[] =>
      sendMessages(
        { to: parseRecipients(to).to, body: 'x', triggers, ...IN_A_RUN },
        { actor: 'boss', host: 'front', at },
        lookupIn([...fanOut, ...triggers]),
      ).flatMap(({ message }) => message.to.map(formatAddress));
    expect(send('w1,w2', [answer1])).toEqual(['w2', 'w1@back']);
    expect(send('w1@other', [answer1])).toEqual(['w1@other']);
    expect(send('operator', [question])).toEqual(['operator']);
  });
  it('outside a dispatch carries neither link', () => {
    expect(links('w1,w2', [])).toEqual([['w1,w2', [], []]]);
  });
});

describe('what is unanswered', () => {
  const left = (waking: Located[], own: Located[]): string[] =>
    unanswered(
      waking,
      own,
      'boss',
      lookupIn([...fanOut, ...own]),
      (answer, delivered) => answer > delivered,
    ).map(({ relPath }) => relPath);
  it('is what no message of the actor names in re or cause', () => {
    expect(left([question], [])).toEqual([path(1)]);
    expect(left([question], [task1])).toEqual([]);
  });
  it('is a reply that asks anew, until the actor names it, whatever it answered before', () => {
    const answer = said(6, 'boss', 'operator', { re: [1], host: 'front' });
    const again = said(7, 'operator', 'boss', { re: [6], asks: true });
    const late = said(8, 'boss', 'operator', { re: [1] });
    expect(left([again], [answer, late])).toEqual([path(7)]);
    expect(left([again], [answer, late, said(9, 'boss', 'operator', { re: [7] })])).toEqual([]);
  });
  it('leaves out a partial answer that was met with silence once the question was answered after it', () => {
    const final = said(8, 'boss', 'operator', { re: [1], cause: [5] });
    expect(left([answer1, answer2], [task1, task2, final])).toEqual([]);
    expect(left([answer1, answer2], [task1, task2])).toEqual([path(4), path(5)]);
  });
});

describe('silence', () => {
  const facts = {
    openQuestions: 1,
    batchSize: 1,
    sentDuringRun: 0,
    awaitsPeers: false,
    answeredBefore: false,
  };
  it('is a failure only for one question, nothing sent and nobody to wait for', () => {
    expect(mayBeSilent(facts)).toBe(false);
    expect(mayBeSilent({ ...facts, openQuestions: 0 })).toBe(true);
    expect(mayBeSilent({ ...facts, batchSize: 2 })).toBe(true);
    expect(mayBeSilent({ ...facts, sentDuringRun: 1 })).toBe(true);
    expect(mayBeSilent({ ...facts, awaitsPeers: true })).toBe(true);
    expect(mayBeSilent({ ...facts, answeredBefore: true })).toBe(true);
  });
  it('waits for peers as long as one that was asked for the same question has not answered', () => {
    const waits = (channel: Located[]): boolean =>
      awaitsPeers('boss', [path(1)], channel, lookupIn(channel));
    expect(waits([question, task1, task2, answer1])).toBe(true);
    expect(waits([question, task1, task2, answer1, answer2])).toBe(false);
    expect(waits([question, said(2, 'boss', 'w1')])).toBe(false);
    expect(waits([question, said(2, 'boss', 'operator', { re: [1], cause: [9] })])).toBe(false);
  });
  it('waits for each of several that were asked in one message', () => {
    const waits = (to: string, ...answers: [from: string, host?: string][]): boolean => {
      const task = said(2, 'boss', to, { cause: [1], host: 'front' });
      const back = answers.map(([from, host], index) =>
        said(3 + index, from, 'boss@front', { re: [2], ...(host === undefined ? {} : { host }) }),
      );
      const channel = [question, task, ...back];
      return awaitsPeers('boss', [path(1)], channel, lookupIn(channel));
    };
    expect(waits('w1,w2', ['w1', 'back'])).toBe(true);
    expect(waits('w1,w2', ['w1', 'back'], ['w1', 'back'])).toBe(true);
    expect(waits('w1,w2', ['w1', 'back'], ['w2', 'back'])).toBe(false);
    expect(waits('w1,w2', ['w1', 'back'], ['a stand-in'])).toBe(false);
    expect(waits('w1@a,w1@b', ['w1', 'a'])).toBe(true);
    expect(waits('w1@a,w1@b', ['w1', 'a'], ['w1', 'b'])).toBe(false);
    expect(waits('w1@a', ['w1'])).toBe(false);
    expect(waits('w1@a', ['w1', 'b'])).toBe(false);
    expect(waits('w1,boss', ['w1', 'back'])).toBe(false);
    expect(waits('all', ['w1', 'back'])).toBe(false);
    expect(waits('all')).toBe(true);
  });
  it('a counter-question that was answered leaves the worker owing its answer, until it comes', () => {
    const counter = said(6, 'w1', 'boss', { re: [2] });
    const told = said(7, 'boss', 'w1', { re: [6] });
    const channel = [question, task1, task2, answer2, counter, told];
    const waits = (more: Located[]): boolean =>
      awaitsPeers('boss', [path(1)], [...channel, ...more], lookupIn([...channel, ...more]));
    expect(waits([])).toBe(true);
    expect(waits([said(8, 'w1', 'helper', { cause: [7] })])).toBe(true);
    expect(waits([said(8, 'w1', 'boss', { re: [2], cause: [7] })])).toBe(false);
  });
  it('is fine for what comes after the question was answered', () => {
    expect(answeredOn('boss', 'front', fanOut).has(path(1))).toBe(false);
    const answer = said(8, 'boss', 'operator', { re: [1], host: 'front' });
    expect(answeredOn('boss', 'front', [...fanOut, answer]).has(path(1))).toBe(true);
    expect(answeredOn('boss', 'back', [...fanOut, answer]).has(path(1))).toBe(false);
  });
});

it('the thread tells an actor what it asked whom and what came back', () => {
  const thread = threadOf([answer2], 'boss', fanOut, lookup).map(({ relPath }) => relPath);
  expect(thread).toEqual([path(1), path(2), path(3), path(4)]);
});

it('the thread tells an actor what it has answered already, also to a part that comes late', () => {
  const own = said(8, 'boss', 'operator', { re: [1], cause: [5], host: 'front' });
  const channel = [...fanOut, own];
  const thread = threadOf([answer2], 'boss', channel, lookupIn(channel));
  expect(thread.map(({ relPath }) => relPath)).toContain(path(8));
});
