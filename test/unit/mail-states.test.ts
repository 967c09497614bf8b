import { describe, expect, it } from 'vitest';
import type { WebDelay } from '../../src/api/api.ts';
import { deliveryOf, stateOf } from '../../src/actions/state/delivery.ts';
import type { Local } from '../../src/actions/state/local.ts';
import { shownStatesOf } from '../../src/page/live/model.ts';
import { inWords, lookOf, present, presentAll, standingOf } from '../../src/present/state.ts';
import { reasonInWords, withoutSequences } from '../../src/protocol/text/words.ts';
import { path } from '../support/messages.ts';

const CHANNEL = '11111111-2222-4333-8444-555555555555';
const NOW = new Date('2026-06-09T20:00:00.000Z');
const at = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();

const errand = {
  actor: 'worker',
  message: { channel: CHANNEL, relPath: path(1), tier: null },
};
/** How far it is on a machine that serves worker and other. */
function standing(
  { actor, message }: typeof errand,
  {
    running,
    dead_letters: letters,
  }: { running: readonly unknown[]; dead_letters: readonly unknown[] },
  holding: object | undefined,
  now: Date,
) {
  const actors = new Set(holding === undefined ? [] : ['worker', 'other']);
  const nothingElse = { paused: null, holds: [], parked: [], gates: [], permissions: [] };
  const local = { ...nothingElse, ...holding, running, letters, actors } as unknown as Local;
  return stateOf(deliveryOf(local, message, { actor, tier: message.tier }, now), now);
}
const place = { actor: 'worker', channel: CHANNEL, messages: [path(1)] };
const letter = (state: 'retrying' | 'quarantined' | 'parked', next: string | null) =>
  ({
    ...place,
    id: 'L',
    channel_name: '',
    state,
    reason: 'exit_code',
    detail: 'exit code 4',
    attempts: 4,
    attempts_since_release: 1,
    attempts_allowed: 3,
    last_failed_at: at(-5),
    next_retry_at: next,
  }) as const;
const run = { ...place, id: 'R', since: at(-2) } as never;
const nothing = { running: [], dead_letters: [] };
const limited = {
  paused: null,
  holds: [{ reason: 'rate_limited' as const, since: at(-9), until: at(30), said: 'limit' }],
  parked: [{ actor: 'worker', tier: 'default', reason: 'rate_limited', until: at(30) }],
};
const paused = { paused: { since: at(-7), by: 'anna' }, holds: [], parked: [] };

describe('mail without an answer', () => {
  it.each([
    ['waiting', nothing, undefined, null],
    ['running', { ...nothing, running: [run] }, undefined, at(-2)],
    ['failing', { ...nothing, dead_letters: [letter('retrying', at(5))] }, undefined, at(-5)],
    ['failed', { ...nothing, dead_letters: [letter('quarantined', null)] }, limited, at(-5)],
    ['parked', { ...nothing, dead_letters: [letter('parked', null)] }, limited, at(-5)],
    ['held', nothing, limited, at(-9)],
    ['held', nothing, paused, at(-7)],
    // A retry that is due and does not begin.
    ['held', { ...nothing, dead_letters: [letter('retrying', at(-1))] }, paused, at(-7)],
  ] as const)('is %s', (state, own, holding, since) => {
    const known = standing(errand, own, holding, NOW);
    expect(known.state).toBe(state);
    expect(known.delay?.since ?? null).toBe(since);
  });

  it('is held until a limit ends, but with no time where somebody has to act', () => {
    expect(standing(errand, nothing, limited, NOW).delay).toMatchObject({
      until: at(30),
      reason: 'rate_limited',
      said: 'limit',
    });
    const [parked] = limited.parked;
    const loggedOut = { ...limited, parked: [{ ...parked!, reason: 'not_logged_in' }] };
    expect(standing(errand, nothing, loggedOut, NOW).delay?.until).toBeNull();
  });

  it('of another actor, or after the time, is not held', () => {
    expect(standing({ ...errand, actor: 'other' }, nothing, limited, NOW).state).toBe('waiting');
    expect(standing(errand, nothing, limited, new Date(at(31))).state).toBe('waiting');
  });
});

describe('what a state says', () => {
  const delay: WebDelay = {
    since: at(-5),
    until: null,
    reason: null,
    said: null,
    attempts: null,
    attempts_allowed: null,
  };
  const shown = { actor: 'worker', detail: null, since: at(-60) };
  const words = (state: 'waiting' | 'failed' | 'running', more: Partial<WebDelay> | null) =>
    inWords(
      present({ ...shown, state, delay: more && { ...delay, ...more } }, { now: NOW.getTime() }),
    );

  it('is another word for each', () => {
    const failing = { reason: 'exit_code', attempts: 1, attempts_allowed: 3, until: at(-1) };
    expect(words('waiting', null)).toBe('waiting for worker');
    expect(words('running', {})).toBe('worker is at work');
    expect(words('failed', { ...failing, until: null })).toBe('worker failed');
    expect(words('failed', failing)).toBe('worker failed; attempt 1 of 3, next now');
    expect(words('waiting', { reason: 'rate_limited', until: at(30) })).toMatch(
      /^waiting for worker: rate limited until .+/,
    );
    expect(words('waiting', { reason: 'paused', said: 'by anna' })).toBe(
      'waiting for worker: paused by anna',
    );
    const open = ['waiting', 'held', 'running', 'failing', 'failed', 'parked'] as const;
    expect(new Set(open.map((state) => lookOf(state).sign)).size).toBe(open.length);
  });

  it('names the dead letter, where it is, and each addressee of several', () => {
    const failed = { ...shown, state: 'failed' as const, detail: '01ABCDEFGH' };
    expect(inWords(present(failed))).toBe('worker failed, dead letter 01ABCDEFGH here');
    expect(inWords(present({ ...failed, failed_on: 'back' }, { brief: true }))).toBe(
      'worker failed on back, dead letter CDEFGH there',
    );
    const cancelled = { ...shown, state: 'cancelled' as const };
    expect(presentAll([cancelled]).map((one) => inWords(one))).toEqual(['cancelled']);
    expect(presentAll([cancelled, cancelled]).map((one) => inWords(one))[1]).toBe(
      'worker: cancelled',
    );
  });

  it('is the approval of the reader where a plan waits for that, and whose it is for anybody else', () => {
    const gate = { approver: 'anna', proposal: path(2), approved: false };
    const of = (me: string, more = {}) =>
      inWords(present({ ...shown, state: 'waiting', gate: { ...gate, ...more } }, { me }));
    expect(of('anna')).toBe("worker's plan waits for your approval");
    expect(of('ben')).toBe("worker's plan waits for anna to decide");
    expect(of('anna', { approved: true })).toBe("worker's plan is approved, and waits for room");
    const asks = { relPath: path(2), approver: 'anna', tool: 'Bash', until: at(1) };
    const running = { ...shown, state: 'running' as const, detail: 'front', permission: asks };
    expect(inWords(present(running, { me: 'anna' }))).toBe(
      'worker is at work on front, and waits for you to decide whether it may use Bash',
    );
    expect(present(running).actions).toEqual(['cancel', 'say more', 'decide']);
  });

  it('counts the time of a run from its beginning, wherever it is shown', () => {
    expect(present({ ...shown, state: 'running', delay }).since).toBe(at(-5));
    expect(present({ ...shown, state: 'waiting', delay: null }).since).toBe(at(-60));
  });

  it('is refined by what was loaded, where an event says no more than that it failed', () => {
    const waiting = {
      ...{ channel: CHANNEL, relPath: path(1), channel_name: '', from: 'me', actor: 'worker' },
      ...{ timestamp: at(-60), age_s: 1, state: 'failing' as const, excerpt: '' },
      delay: { ...delay, until: at(3), reason: 'exit_code', attempts: 1 },
    };
    const message = { channel: CHANNEL, relPath: path(1), timestamp: at(-60), queued: false };
    const facts = (state: 'failed' | 'answered') =>
      new Map([
        [
          `${CHANNEL}/${path(1)}`,
          { self: 'sent' as const, actors: { worker: { state, detail: 'L', at: at(-5) } } },
        ],
      ]);
    const of = (state: 'failed' | 'answered') =>
      shownStatesOf(message as never, facts(state), [waiting], []).map(standingOf);
    expect(of('failed')).toEqual(['failing']);
    expect(of('answered')).toEqual(['answered']);
  });
});

it('reasons are words, and unknown ones at least lose their underscores', () => {
  expect(reasonInWords('exit_code')).toBe('the command failed');
  expect(reasonInWords('rate_limited')).toBe('rate limited');
  expect(reasonInWords('some_new_one')).toBe('some new one');
  expect(reasonInWords('constructor')).toBe('constructor');
});

it('what a command wrote for a terminal disappears whole, and nothing else does', () => {
  const coloured =
    '\u001b[1;31mno \u001b]8;;http://x\u0007paint\u001b]8;;\u0007\u001b(B\u001b[0m left';
  expect(withoutSequences(coloured)).toBe('no paint left');
  expect(withoutSequences('\u009b31mred')).toBe('red');
  expect(withoutSequences('[31m] and a\r\n[INFO] b')).toBe('[31m] and a\n[INFO] b');
  expect(withoutSequences('\u001b]unfinished')).toBe(']unfinished');
});
