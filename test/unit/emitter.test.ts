import { expect, it } from 'vitest';
import { Alarm } from '../../src/dispatcher/alarm.ts';
import { WakeUp } from '../../src/dispatcher/socket/answers.ts';
import { Emitter } from '../../src/emitter.ts';

it('all who listen are told, in their order, and only of what they listen to', () => {
  const emitter = new Emitter<{ sent: [id: string, count: number]; closed: [] }>();
  const told: unknown[] = [];
  emitter.on('sent', (...of) => told.push(['first', ...of]));
  emitter.on('sent', (...of) => told.push(['second', ...of]));
  emitter.on('closed', () => told.push('closed'));
  emitter.emit('sent', 'a', 1);
  expect(told).toEqual([
    ['first', 'a', 1],
    ['second', 'a', 1],
  ]);
});

it('what one listener throws reaches neither another nor whoever emits, and is told', () => {
  const failures: unknown[] = [];
  const emitter = new Emitter<{ sent: [] }>((error) => failures.push(error));
  const error = new Error('no');
  let told = 0;
  emitter.on('sent', () => {
    throw error;
  });
  emitter.on('sent', () => told++);
  emitter.emit('sent');
  expect([told, failures]).toEqual([1, [error]]);
});

it('a bell ends the wait of an alarm with what it was rung for', async () => {
  const bell = new WakeUp();
  const alarm = new Alarm(bell);
  const { signal } = new AbortController();
  const waiting = alarm.wait(60_000, signal);
  bell.ring('look');
  expect(await waiting).toBe('look');
});

it('a bell that rings while nobody waits ends the next wait, once; who asks comes before who looks', async () => {
  const bell = new WakeUp();
  const alarm = new Alarm(bell);
  const { signal } = new AbortController();
  bell.ring('ask');
  bell.ring('look');
  expect(await alarm.wait(60_000, signal)).toBe('ask');
  expect(await alarm.wait(1, signal)).toBe('time');
  expect(await alarm.wait(60_000, AbortSignal.abort())).toBe('aborted');
});
