import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY, keepDraft, loadDraft, type Shelf } from '../../src/page/live/drafts.ts';
import {
  completed,
  listed,
  recipientProblem,
  suggested,
  typingAt,
  unservedAmong,
} from '../../src/page/compose/recipients.ts';
import { namesOf, tiersOf } from '../../src/page/compose/sending.ts';
import { BINDINGS, press, type Pressed } from '../../src/page/keys/keymap.ts';
import { withFacts, type KnownMessages } from '../../src/page/live/model.ts';
import { pathOf, routeOf, type Route } from '../../src/page/route/route.ts';
import type { WebActor, WebFact } from '../../src/api/api.ts';
import { path } from '../support/messages.ts';

const CHANNEL = '11111111-2222-4333-8444-555555555555';

/** A shelf like the browser's; `full` throws as the browser does when there is no more space. */
function shelf(full = false): Shelf {
  const kept = new Map<string, string>();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => {
      if (full) throw new Error('QuotaExceededError');
      kept.set(key, value);
    },
    removeItem: (key) => kept.delete(key),
  };
}

describe('addresses of the page', () => {
  const routes: Route[] = [
    { view: 'inbox' },
    { view: 'inbox', show: 'failed' },
    { view: 'now' },
    { view: 'channels' },
    { view: 'flow' },
    { view: 'flow', length: 3600, until: '2026-06-09T19:00:00.000Z' },
    { view: 'write' },
    { view: 'write', channel: CHANNEL },
    { view: 'search', words: '"a & b" c*' },
    { view: 'search', words: 'x', channel: CHANNEL },
    { view: 'channel', channel: CHANNEL },
    { view: 'message', channel: CHANNEL, relPath: path(1) },
    { view: 'thread', channel: CHANNEL, relPath: path(1) },
    { view: 'skills' },
    { view: 'skill', name: 'review-2' },
    { view: 'notes' },
    {
      view: 'notes',
      words: '"a & b" c*',
      scope: 'actor:ben',
      kind: 'decision',
      state: 'all',
      skip: 50,
    },
    { view: 'changes' },
    { view: 'note', file: '20261125T130344368Z-a30f0bd6f6d5.md' },
  ];
  it.each(routes)('lead back to what they were made for: %j', (route) => {
    const [at = '', query = ''] = pathOf(route).split('?');
    expect(routeOf(at, query)).toEqual(route);
  });

  it.each([
    '/x',
    '/c/none',
    '/skills/..',
    '/skills/A',
    '/notes/x.md',
    '/changes/x',
    `/m/${CHANNEL}/../../etc`,
    `/t/${CHANNEL}`,
    '/c/a/b',
  ])('that name nothing are told from others: %s', (at) => {
    expect(routeOf(at, '').view).toBe('nowhere');
  });

  it.each(['length=x&until=y', 'length=-1', 'length=1e3', 'until=2026-99-99', 'length=0&until='])(
    'of Flow without a period show the usual one: %s',
    (query) => {
      expect(routeOf('/flow', query)).toEqual({ view: 'flow' });
    },
  );
});

describe('keys', () => {
  const typed = (keys: readonly string[], apart: number, where?: 'messages' | 'flow' | 'inbox') => {
    let pressed: Pressed = { keys: [], at: 0 };
    let action: string | undefined;
    keys.forEach((key, index) => {
      const done = press(pressed, key, index * apart, where);
      ({ pressed } = done);
      action = done.action;
    });
    return action;
  };
  it('do what the help says, each where it says so', () => {
    for (const { keys, action, where } of BINDINGS) expect(typed(keys, 100, where)).toBe(action);
  });

  it('that are pressed too far apart do not belong together', () => {
    expect(typed(['g', 'n'], 2000)).toBeUndefined();
  });

  it('of one view do nothing in another', () => {
    expect(typed(['j'], 1, undefined)).toBeUndefined();
  });

  it('are used for one thing in each place', () => {
    for (const where of [undefined, 'messages', 'flow'] as const) {
      const here = BINDINGS.filter((one) => one.where === undefined || one.where === where);
      const keys = here.map((one) => one.keys.join(' '));
      expect(new Set(keys).size).toBe(keys.length);
    }
  });
});

describe('recipients', () => {
  it('are completed where they are typed, and the others stay', () => {
    const text = 'concierge, te, reviewer';
    const typing = typingAt(text, 13);
    expect(typing.text).toBe('te');
    expect(completed(text, typing, 'tester').text).toBe('concierge, tester, reviewer');
  });

  it('are offered by their beginning first, and not twice', () => {
    const known = ['tester', 'concierge', 'attester'];
    expect(suggested('te', known, [])).toEqual(['tester', 'attester']);
    expect(suggested('', known, ['concierge'])).toEqual(['tester', 'attester']);
  });

  it('that cannot be addresses are named', () => {
    expect(recipientProblem('a, b@host all')).toBeUndefined();
    expect(recipientProblem(' , ')).toMatch(/who/);
    expect(recipientProblem('a, <b>')).toContain('<b>');
    expect(recipientProblem('a@b@c')).toContain('a@b@c');
    expect(listed(' a,b  c@d, ')).toEqual(['a', 'b', 'c@d']);
  });

  it('come from the hosts, as do their tiers', () => {
    const actors: WebActor[] = [
      {
        name: 'worker',
        description: '',
        hosts: [
          { alias: 'one', tiers: ['small', 'large'] },
          { alias: 'two', tiers: ['huge'] },
        ],
      },
      { name: 'boss', description: '', hosts: [{ alias: 'one', tiers: ['default'] }] },
    ];
    expect(namesOf(actors)).toEqual(['worker', 'worker@one', 'worker@two', 'boss', 'all']);
    expect(tiersOf(actors, 'worker@two')).toEqual(['huge']);
    expect(tiersOf(actors, 'worker, boss')).toEqual(['small', 'large', 'huge', 'default']);
  });

  it('whom no host serves are told of, in the words of the command line', () => {
    const actors: WebActor[] = [
      { name: 'worker', description: '', hosts: [{ alias: 'one', tiers: [] }] },
      { name: 'idle', description: '', hosts: [] },
    ];
    const waits = '; the message waits until one does';
    const known = { actors, people: ['root'] };
    expect(unservedAmong('worker, worker@one, all, root', known)).toEqual([]);
    expect(unservedAmong('idle anna anna', known)).toEqual([
      `no host serves idle${waits}`,
      `no host serves anna${waits}`,
    ]);
    expect(unservedAmong('worker@two', known)).toEqual([
      `no host serves worker@two (worker is served by one)${waits}`,
    ]);
    expect(unservedAmong('', known)).toEqual([]);
    expect(unservedAmong('worker, <b>', known)).toEqual([]);
  });
});

describe('drafts', () => {
  const draft = fc.record({
    to: fc.string({ minLength: 1 }),
    tier: fc.string(),
    body: fc.string(),
    options: fc.array(fc.string()),
    schema: fc.string(),
  });

  it('come back as they were kept, each in its channel', () => {
    fc.assert(
      fc.property(draft, (kept) => {
        const there = shelf();
        keepDraft(there, 'a', kept);
        expect(loadDraft(there, 'a')).toEqual(kept);
        expect(loadDraft(there, 'b')).toEqual(EMPTY);
      }),
    );
  });

  it('that are damaged are as none, and a full shelf is no error', () => {
    const there = shelf();
    for (const kept of ['{', '[]', '7', '{"to":7}', '{"options":"x"}', '{"options":[7]}']) {
      there.setItem('crosstalk-draft-a', kept);
      expect(loadDraft(there, 'a')).toEqual(EMPTY);
    }
    // What an older page kept has neither options nor a schema.
    there.setItem('crosstalk-draft-a', '{"to":"x","tier":"","body":"y"}');
    expect(loadDraft(there, 'a')).toEqual({ ...EMPTY, to: 'x', body: 'y' });
    expect(keepDraft(shelf(true), 'a', { ...EMPTY, body: 'x' })).toBe(false);
  });
});

describe('what is known of a message', () => {
  const fact = (state: WebFact['state'], at: number, actor: string | null = null): WebFact => ({
    channel: CHANNEL,
    relPath: path(1),
    at: new Date(at).toISOString(),
    state,
    actor,
    detail: null,
  });
  const after = (...facts: WebFact[]) =>
    facts
      .reduce((known: KnownMessages, one) => withFacts(known, { facts: [one] }), new Map())
      .get(`${CHANNEL}/${path(1)}`);

  it('is the newest, in whatever order it is heard', () => {
    const taken = fact('taken', 2, 'worker');
    const answered = fact('answered', 3, 'worker');
    expect(after(taken, answered)?.actors['worker']?.state).toBe('answered');
    expect(after(answered, taken)?.actors['worker']?.state).toBe('answered');
  });

  it('does not go back from sent to queued', () => {
    expect(after(fact('queued', 1))?.self).toBe('queued');
    expect(after(fact('sent', 2), fact('queued', 1))?.self).toBe('sent');
  });
});
