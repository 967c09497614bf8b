import { expect, it } from 'vitest';
import { widthOf } from '../../../src/chat/columns.ts';
import { toClipboard } from '../../../src/chat/driver.ts';
import { attachmentOf, type Attachment } from '../../../src/actions/sending/attached.ts';
import { threadsOf } from '../../../src/chat/threads.ts';
import { view } from '../../../src/chat/view.ts';
import { entry, GENERAL, Model, RELEASE, relPath } from '../../support/chat-state.ts';

it('what is typed is sent to the default addressee or to those it names, and goes into the history once', () => {
  const chat = new Model().loaded();
  chat.type('hello').press('return');
  expect(chat.did('send')).toMatchObject([{ channel: GENERAL, to: 'concierge', body: 'hello' }]);
  expect(chat.state.input.text).toBe('');
  chat.type('@tester, @concierge@laptop run it').press('return');
  expect(chat.did('send')).toMatchObject([{ to: 'tester,concierge@laptop', body: 'run it' }]);
  chat.type('//etc is a folder').press('return').type('//etc is a folder').press('return');
  expect(chat.did('send')).toMatchObject([{ body: '/etc is a folder' }, {}]);
  expect(chat.state.history).toEqual([
    'hello',
    '@tester, @concierge@laptop run it',
    '//etc is a folder',
  ]);
  chat.press('return');
  expect(chat.did('send')).toEqual([]);
});

it('nothing typed is lost: what is wrong stays, what was refused comes back, Ctrl-C leaves it in the history', () => {
  const chat = new Model().loaded();
  chat.type('@nobdy hello').press('return');
  expect(chat.did('send')).toEqual([]);
  expect(chat.state.input.text).toBe('@nobdy hello');
  expect(chat.screen.join('\n')).toContain('nobody here is called nobdy');
  chat.press('ctrl-c').type('/nonsense').press('return');
  expect(chat.screen.join('\n')).toContain('no command /nonsense');
  expect(chat.state.input.text).toBe('/nonsense');
  chat.press('ctrl-c', 'up', 'up');
  expect(chat.state.input.text).toBe('@nobdy hello');
  chat.press('ctrl-c').type('will fail').press('return');
  const sent = entry(5, 'anna', 'concierge', { body: 'will fail' });
  chat.on({ type: 'sending', entry: sent });
  expect(chat.screen.join('\n')).toContain('queued');
  chat.on({ type: 'refused', entry: sent, typed: 'will fail', text: 'the disk is full' });
  expect(chat.state.input.text).toBe('will fail');
  expect(chat.screen.join('\n')).toContain('the disk is full');
  expect(chat.screen.join('\n')).not.toContain('queued');
});

it('why a message did not leave is not replaced by what is said beside it, until it was read', () => {
  const chat = new Model().loaded();
  chat.on({ type: 'aside', text: 'the first remark' });
  expect(chat.screen.join('\n')).toContain('the first remark');
  chat.on({ type: 'aside', text: 'the second remark' });
  expect(chat.screen.join('\n')).toContain('the second remark');
  chat.on({ type: 'sent', sent: { relPath: relPath(90), queued: 'no remote' } });
  chat.on({ type: 'aside', text: 'no dispatcher is running' });
  expect(chat.screen.join('\n')).toContain('queued, not on the remote yet: no remote');
  chat.press('ctrl-c').on({ type: 'aside', text: 'no dispatcher is running' });
  expect(chat.screen.join('\n')).toContain('no dispatcher is running');
});

it('Ctrl-C clears what is typed first, and leaves when there is nothing', () => {
  const chat = new Model().loaded().type('half a sent');
  chat.press('ctrl-c');
  expect(chat.did('quit')).toEqual([]);
  chat.press('ctrl-c');
  expect(chat.did('quit')).toHaveLength(1);
});

it('the arrows bring back what was sent, and what was being typed', () => {
  const chat = new Model().loaded();
  for (const line of ['one', 'two']) chat.type(line).press('return');
  chat.type('draft').press('up', 'up', 'up');
  expect(chat.state.input.text).toBe('one');
  chat.press('down', 'down');
  expect(chat.state.input.text).toBe('draft');
});

it('a backslash or Alt before Enter begins a new line, and the arrows move in it', () => {
  const chat = new Model().loaded().type('one\\').press('return').type('two').press('alt-return');
  chat.type('three').press('up', 'home').type('X');
  expect(chat.state.input.text).toBe('one\nXtwo\nthree');
  chat.press('return');
  expect(chat.did('send')).toMatchObject([{ body: 'one\nXtwo\nthree' }]);
});

it('Tab completes addresses after @ and /to, commands after /, channels after /channel', () => {
  const after = (text: string, ...keys: string[]): string =>
    new Model()
      .loaded()
      .type(text)
      .press('tab', ...keys).state.input.text;
  expect(after('@con')).toBe('@concierge ');
  expect(after('@con', 'tab')).toBe('@concierge@laptop ');
  expect(after('@con', 'tab', 'tab')).toBe('@concierge ');
  expect(after('@con', 'shift-tab')).toBe('@concierge@laptop ');
  expect(after('please ask @te')).toBe('please ask @tester ');
  expect(after('@nobody')).toBe('@nobody');
  expect(after('/st')).toBe('/status ');
  expect(after('/to tester,al')).toBe('/to tester,all');
  expect(after('/channel re')).toBe('/channel release');
  expect(after('word')).toBe('word');
  const chat = new Model().loaded().type('@con').press('tab');
  expect(chat.screen.at(-2)).toBe('[concierge] concierge@laptop');
  expect(chat.type('hi').state.completion).toBeUndefined();
});

it('/name of a skill is a message to whoever is spoken to, completed like a command, unless a command is called so', () => {
  const skills = ['review', 'status'].map((value) => ({ value, description: '' }));
  const chat = (): Model => new Model().loaded().on({ type: 'skills', skills });
  const completed = (text: string): string => chat().type(text).press('tab').state.input.text;
  expect(completed('/rev')).toBe('/review ');
  expect(completed('@tester /rev')).toBe('@tester /review ');
  expect(completed('see /rev')).toBe('see /rev');
  const sent = (text: string): unknown[] => chat().type(text).press('return').did('send');
  expect(sent('/review the change')).toMatchObject([
    { to: 'concierge', body: '/review the change' },
  ]);
  expect(sent('@tester /review it')).toMatchObject([{ to: 'tester', body: '/review it' }]);
  expect(sent('//status of today')).toMatchObject([{ body: '/status of today' }]);
  expect(sent('/status')).toEqual([]);
  expect(sent('/nothing')).toEqual([]);
});

it('what calls a skill before the skills are read is sent when they are, unless it was changed', () => {
  const skills = [{ value: 'review', description: '' }];
  const early = (text: string): Model => {
    const chat = new Model().loaded();
    chat.state = { ...chat.state, skills: undefined };
    return chat.type(text).press('return');
  };
  const waiting = early('/review it');
  expect(waiting.screen.join('\n')).toContain('sent as soon as the skills are read');
  expect(waiting.did('send')).toEqual([]);
  expect(waiting.on({ type: 'skills', skills }).did('send')).toMatchObject([
    { body: '/review it' },
  ]);
  expect(waiting.state.input.text).toBe('');
  expect(waiting.screen.join('\n')).not.toContain('as soon as');
  const changed = early('/review it').type('s');
  expect(changed.on({ type: 'skills', skills }).did('send')).toEqual([]);
  expect(changed.press('return').did('send')).toMatchObject([{ body: '/review its' }]);
  const unknown = early('/audit it').on({ type: 'skills', skills });
  expect(unknown.did('send')).toEqual([]);
  expect(unknown.screen.join('\n')).toContain('no command /audit');
});

it('a skill that was added while the chat is open is found by the second Enter', () => {
  const skill = { value: 'audit', description: '' };
  const chat = new Model().loaded().type('/audit it').press('return');
  expect(chat.screen.join('\n')).toContain('no command /audit');
  expect(chat.did('skills')).toHaveLength(1);
  expect(chat.on({ type: 'skills', skills: [] }).screen.join('\n')).toContain('no command /audit');
  chat.on({ type: 'skills', skills: [skill] });
  expect(chat.screen.join('\n')).toContain('/audit is a skill by now; press Enter again');
  expect(chat.press('return').did('send')).toMatchObject([{ body: '/audit it' }]);
});

it('a message belongs to the thread of what it answers or was caused by; the liveliest comes last', () => {
  const entries = [
    entry(1, 'anna', 'concierge'),
    entry(2, 'anna', 'tester'),
    entry(3, 'concierge', 'tester', { cause: [relPath(1)] }),
    entry(4, 'tester', 'concierge', { re: [relPath(3)] }),
    entry(5, 'concierge', 'anna', { re: [relPath(1)], cause: [relPath(4)] }),
    entry(6, 'bert', 'anna', { re: ['2020/01/01/000000000Z-00000000.md'] }),
  ];
  const threads = threadsOf(entries);
  const shape = threads.map(({ root, others }) => [
    root.relPath,
    others.map((one) => [one.entry.relPath, one.depth]),
  ]);
  expect(shape).toEqual([
    [relPath(2), []],
    [
      relPath(1),
      [
        [relPath(3), 1],
        [relPath(4), 2],
        [relPath(5), 1],
      ],
    ],
    [relPath(6), []],
  ]);
});

it('threads from before fold into a line that says who asked, how many answered and the state; a key unfolds them', () => {
  const chat = new Model().loaded(
    entry(1, 'bert', 'concierge', { body: 'Which\nway?' }),
    entry(2, 'concierge', 'bert', { re: [relPath(1)], body: 'Up.' }),
    entry(3, 'bert', 'concierge'),
    entry(4, 'concierge', 'bert', { re: [relPath(3)] }),
  );
  const answered = {
    actor: 'concierge',
    state: 'answered' as const,
    detail: null,
    took_s: 4,
    delay: null,
  };
  chat.on({ type: 'standings', standings: [{ relPath: relPath(1), states: [answered] }] });
  const line = chat.screen.find((one) => one.includes('Which way'));
  expect(line).toMatch(/^▸ .* bert: Which way\? {2}1 answer {2}concierge answered after 4 s$/);
  expect(chat.screen.join('\n')).not.toContain('Up.');
  // The newest thread is unfolded.
  expect(chat.screen.join('\n')).toContain('message 4');
  chat.press('alt-up', 'alt-up', 'return');
  expect(chat.screen.join('\n')).toContain('    Up.');
  chat.press('return');
  expect(chat.screen.join('\n')).not.toContain('Up.');
  chat.press('escape', 'ctrl-t');
  expect(chat.screen.join('\n')).not.toContain('message 4');
  chat.press('ctrl-t');
  expect(chat.screen.join('\n')).toContain('Up.');
});

it('what arrives while somebody looks on is not folded, and the wait for it counts seconds', () => {
  const chat = new Model().loaded();
  chat.on({ type: 'sending', entry: entry(90, 'anna', 'concierge') });
  chat.on({ type: 'sent', sent: { relPath: relPath(90), queued: undefined } });
  expect(chat.did('look').at(-1)?.wanted).toEqual([relPath(90)]);
  const waiting = {
    actor: 'concierge',
    state: 'waiting' as const,
    detail: null,
    took_s: null,
    delay: null,
  };
  chat.on({ type: 'standings', standings: [{ relPath: relPath(90), states: [waiting] }] });
  expect(chat.screen.join('\n')).toContain('waiting for concierge… 10 s');
  const failed = { ...waiting, state: 'failed' as const, detail: '01ABCDEFGH' };
  chat.on({ type: 'standings', standings: [{ relPath: relPath(90), states: [failed] }] });
  expect(chat.screen.join('\n')).toContain('concierge failed, dead letter CDEFGH here');
  const running = { ...waiting, state: 'running' as const, detail: 'laptop' };
  chat.on({ type: 'standings', standings: [{ relPath: relPath(90), states: [running] }] });
  expect(chat.screen.join('\n')).toContain('concierge is at work on laptop… 10 s');
  const answer = entry(95, 'concierge', 'anna', { re: [relPath(90)], body: 'the answer' });
  chat.on({ type: 'arrived', entries: [answer, entry(96, 'bert', 'tester')] });
  expect(chat.screen.join('\n')).toContain('the answer');
});

it('scrolled up, the screen stays where it is while new messages come, and says so', () => {
  const many = Array.from({ length: 40 }, (_, n) => entry(n + 1, 'bert', 'nobody'));
  const chat = new Model({ columns: 50, rows: 12 }).on({
    type: 'page',
    channel: GENERAL,
    entries: many,
    more: true,
  });
  chat.did('older');
  chat.press('pageup');
  const before = chat.screen.slice(0, -2);
  chat.on({ type: 'arrived', entries: [entry(50, 'bert', 'anna'), entry(51, 'bert', 'anna')] });
  expect(chat.screen.slice(0, -2)).toEqual(before);
  expect(chat.screen.at(-2)).toContain('2 new below');
  chat.press('pagedown', 'pagedown');
  expect(chat.screen.join('\n')).toContain('message 51');
  expect(chat.screen.join('\n')).not.toContain('new below');
  chat.press('pageup').on({ type: 'arrived', entries: [entry(52, 'bert', 'anna')] });
  expect(chat.screen.at(-2)).toContain('1 new below');
  chat.press('escape');
  expect(chat.screen.join('\n')).toContain('message 52');
  for (let n = 0; n < 30; n++) chat.press('pageup');
  expect(chat.did('older')).toEqual([{ do: 'older', channel: GENERAL }]);
  const top = chat.screen.slice(2, -2);
  chat.on({ type: 'page', channel: GENERAL, entries: [entry(0, 'old', 'nobody')], more: false });
  expect(chat.screen.slice(0, -2).join('\n')).toContain(top.slice(0, 3).join('\n'));
  chat.press('pageup');
  expect(chat.screen.join('\n')).toContain('message 0');
});

it('older messages are asked for as long as what is folded leaves room', () => {
  const pairs = Array.from({ length: 4 }, (_, n) => [
    entry(2 * n + 1, 'bert', 'concierge'),
    entry(2 * n + 2, 'concierge', 'bert', { re: [relPath(2 * n + 1)] }),
  ]);
  const chat = new Model();
  chat.did('older');
  chat.on({ type: 'page', channel: GENERAL, entries: pairs.flat(), more: true });
  expect(chat.did('older')).toHaveLength(1);
  const many = Array.from({ length: 30 }, (_, n) => entry(n + 10, 'bert', 'nobody'));
  chat.on({ type: 'page', channel: GENERAL, entries: many, more: true });
  expect(chat.did('older')).toEqual([]);
});

it('the thread that is selected is on the screen, wherever it was', () => {
  const many = Array.from({ length: 40 }, (_, n) => entry(n + 1, 'bert', 'nobody'));
  const chat = new Model({ columns: 50, rows: 12 }).loaded(...many);
  const selected = (): string | undefined => chat.screen.find((line) => line.startsWith('»'));
  for (let n = 0; n < 40; n++) {
    chat.press('alt-up');
    expect(selected()).toBeDefined();
  }
  expect(chat.screen.join('\n')).toContain('message 1\n');
  for (let n = 0; n < 40; n++) {
    chat.press('alt-down');
    expect(selected()).toBeDefined();
  }
  expect(chat.state.scroll).toBeLessThan(3);
});

it('other channels count what is unread, keep their own drafts, and are loaded when they are shown', () => {
  const chat = new Model({ columns: 80, rows: 24 }, { [RELEASE]: 'a draft' }).loaded();
  chat.did('older');
  chat.on({ type: 'arrived', entries: [entry(1, 'bert', 'anna', { channel: RELEASE })] });
  const side = view(chat.state).sidebar!.lines.map((line) => line.map(({ text }) => text).join(''));
  expect(side[1]).toMatch(/^ {3}release +1 │$/);
  chat.type('here').press('ctrl-n');
  expect(chat.did('older')).toEqual([{ do: 'older', channel: RELEASE }]);
  expect(chat.state.input.text).toBe('a draft');
  expect(chat.state.unread[RELEASE]).toBe(0);
  chat.press('ctrl-p');
  expect(chat.state.input.text).toBe('here');
  chat.press('ctrl-c').type('/channel rel').press('return');
  expect(chat.state.current).toBe(RELEASE);
  expect(chat.state.input.text).toBe('a draft');
});

it('commands change the addressee, ask for reports and say what they lack', () => {
  const chat = new Model().loaded();
  chat.type('/to @tester concierge').press('return');
  expect(chat.state.to).toBe('tester,concierge');
  chat.type('/to not/valid').press('return');
  expect(chat.state.to).toBe('tester,concierge');
  chat.press('ctrl-c').type('/to stranger').press('return');
  expect(chat.screen.join('\n')).toContain(
    'no host serves stranger; the message waits until one does',
  );
  chat.type('/search rate limit').press('return').type('/status').press('return');
  expect(chat.did('search')).toEqual([{ do: 'search', channel: GENERAL, words: 'rate limit' }]);
  expect(chat.did('status')).toHaveLength(1);
  chat.type('/thread').press('return');
  expect(chat.screen.join('\n')).toContain('which thread?');
  chat.press('ctrl-c').type('/help').press('return', 'pagedown');
  expect(chat.screen.join('\n')).toContain('Alt-Enter');
  chat.press('escape').type('/quit').press('return');
  expect(chat.did('quit')).toHaveLength(1);
});

it('/read shows a whole message: the one named, else the newest of the thread selected, else of the channel', () => {
  const long = entry(1, 'bert', 'concierge', { body: 'line\n'.repeat(300) });
  const chat = new Model().loaded(
    long,
    entry(2, 'concierge', 'bert', { re: [relPath(1)] }),
    entry(3, 'anna', 'all', {}),
  );
  chat.type('/read 1f2e3d4c').press('return').type('/read').press('return');
  chat.press('alt-up').press('alt-up').type('/read').press('return');
  expect(chat.did('read').map(({ message }) => message)).toEqual([
    '1f2e3d4c',
    `${GENERAL}/${relPath(3)}`,
    `${GENERAL}/${relPath(2)}`,
  ]);
  const empty = new Model().loaded();
  empty.type('/read').press('return');
  expect(empty.screen.join('\n')).toContain('which message?');
});

it('every frame has exactly the lines and at most the columns of its terminal, whatever is in it', () => {
  const hostile = '\u001b[2J日本語 👩‍👩‍👧 שלום \u202e'.repeat(20);
  for (const columns of [1, 3, 10, 40, 60, 80, 200]) {
    for (const rows of [1, 2, 3, 4, 5, 24]) {
      const chat = new Model({ columns, rows }).loaded(
        entry(1, 'bert', 'concierge', { body: hostile }),
        entry(2, 'concierge', 'bert', { re: [relPath(1)], body: `${hostile}\n${hostile}` }),
        entry(3, 'anna', 'all', { body: hostile }),
      );
      chat
        .type('a long text that takes more than a row of it, 日本語')
        .press('alt-return')
        .type('x');
      chat.on({ type: 'notice', text: hostile, bad: true });
      for (const state of [chat.state, chat.press('ctrl-c').type('/help').press('return').state]) {
        const { lines, sidebar, cursor } = view(state);
        expect(lines).toHaveLength(Math.max(1, rows - 1));
        const widest = (all: typeof lines): number =>
          Math.max(...all.map((line) => line.reduce((sum, { text }) => sum + widthOf(text), 0)));
        // A prompt takes two columns.
        expect(widest(lines) + (sidebar?.width ?? 0)).toBeLessThanOrEqual(Math.max(columns, 4));
        if (sidebar !== undefined) expect(widest(sidebar.lines)).toBe(sidebar.width);
        expect(cursor.y).toBeLessThan(lines.length);
        expect(cursor.x).toBeLessThan(columns);
        const shown = JSON.stringify(lines);
        expect(shown).not.toContain('\\u001b');
        expect(shown).not.toContain('\u202e');
      }
    }
  }
});

it('/reply answers the newest of others, in the thread selected or in the channel, or the one it names', () => {
  const asked = entry(1, 'carol', 'anna', { body: 'which?', options: ['yes\u202e', 'no'] });
  const chat = new Model().loaded(asked, entry(2, 'anna', 'tester'), entry(3, 'dan', 'anna'));
  expect(chat.screen.join('\n')).toContain('1) yes\\u202e\n  2) no');
  chat.type('/reply and then?').press('return');
  expect(chat.did('reply')).toEqual([
    {
      do: 'reply',
      channel: GENERAL,
      message: `${GENERAL}/${relPath(3)}`,
      body: 'and then?',
      typed: '/reply and then?',
    },
  ]);
  chat.press('alt-up', 'alt-up', 'alt-up').type('/reply 2').press('return');
  expect(chat.did('reply')).toMatchObject([{ message: `${GENERAL}/${relPath(1)}`, body: '2' }]);
  chat.type('/reply 0123abcd dead sure').press('return');
  expect(chat.did('reply')).toMatchObject([{ message: '0123abcd', body: 'dead sure' }]);
  chat.type('/reply').press('return');
  expect(chat.did('reply')).toEqual([]);
  expect(chat.screen.join('\n')).toContain('the reply is empty');
  expect(chat.state.input.text).toBe('/reply');
});

it('how many messages ask something stands above the conversation, and /inbox shows them', () => {
  const chat = new Model().loaded(entry(1, 'carol', 'anna'));
  expect(chat.screen[0]).not.toContain('ask');
  chat.on({ type: 'asking', asking: 2 });
  expect(chat.screen[0]).toContain('2 messages ask you: /inbox');
  chat.type('/inbox').press('return');
  expect(chat.did('inbox')).toHaveLength(1);
});

it('/cancel takes back what somebody works on for the user, or the message it names', () => {
  const chat = new Model().loaded(entry(1, 'anna', 'tester'), entry(2, 'anna', 'tester'));
  chat.type('/cancel').press('return');
  expect(chat.did('cancel')).toEqual([]);
  expect(chat.screen.join('\n')).toContain('nobody works on a message of yours here');
  const states = [
    { actor: 'tester', state: 'running' as const, detail: null, took_s: null, delay: null },
  ];
  chat.on({ type: 'standings', standings: [{ relPath: relPath(1), states }] });
  chat.type('').press('return');
  expect(chat.did('cancel')).toEqual([{ do: 'cancel', message: `${GENERAL}/${relPath(1)}` }]);
  chat.type('/cancel 0123abcd').press('return');
  expect(chat.did('cancel')).toEqual([{ do: 'cancel', message: '0123abcd' }]);
});

it('/cancel leaves what was cancelled or has failed for good, and asks when several are open', () => {
  const chat = new Model().loaded(
    entry(1, 'anna', 'tester', { body: 'run the tests\n' }),
    entry(2, 'anna', 'tester', { body: 'count the lines\n' }),
    entry(3, 'anna', 'tester'),
    entry(4, 'anna', 'tester'),
    entry(5, 'anna', 'tester', { re: [relPath(4)], cancels: relPath(4) }),
  );
  const state = (n: number, state: 'running' | 'waiting' | 'failed', until: string | null) => ({
    relPath: relPath(n),
    states: [
      {
        actor: 'tester',
        state,
        detail: null,
        took_s: null,
        delay: {
          ...{ since: null, until, reason: 'cancelled', said: null },
          ...{ attempts: 1, attempts_allowed: null },
        },
      },
    ],
  });
  const none = [state(3, 'failed', null), state(4, 'waiting', null)];
  chat.on({ type: 'standings', standings: none });
  chat.type('/cancel').press('return');
  expect(chat.did('cancel')).toEqual([]);
  expect(chat.screen.join('\n')).toContain('nobody works on a message of yours here');
  const open = [state(1, 'running', null), state(2, 'failed', '2026-06-09T12:00:00Z')];
  chat.on({ type: 'standings', standings: open });
  chat.press('return');
  expect(chat.did('cancel')).toEqual([]);
  expect(chat.state.notice?.text).toContain('00000002 "count the lines", 00000001 "run the tests"');
  expect(chat.state.input.text).toBe('/cancel 00000002');
  chat.press('return');
  expect(chat.did('cancel')).toEqual([{ do: 'cancel', message: '00000002' }]);
});

it('a cancellation says what force it has', () => {
  const cancels = { re: [relPath(1)], cancels: relPath(1) };
  const chat = new Model({ columns: 100, rows: 24 }).loaded(
    entry(1, 'anna', 'tester'),
    entry(2, 'anna', 'tester', { ...cancels, force: 'cancels' }),
    entry(3, 'mallory', 'tester', { ...cancels, force: 'none' }),
    entry(4, 'anna', 'tester', { ...cancels, force: 'late' }),
  );
  const screen = chat.screen.join('\n');
  expect(screen).toContain('anna cancels it → tester');
  expect(screen).toContain('mallory would cancel it, but has no force → tester');
  expect(screen).toContain('anna cancels it after the answer, which stays → tester');
});

it('/now is about what an actor works on that a host serves, and nothing else', () => {
  const chat = new Model().loaded(
    entry(1, 'anna', 'concierge'),
    entry(2, 'anna', 'nobody'),
    entry(3, 'anna', 'concierge@gone'),
  );
  const waits = (n: number, actor: string) => ({
    relPath: relPath(n),
    states: [{ actor, state: 'waiting' as const, detail: null, took_s: null, delay: null }],
  });
  chat.on({ type: 'standings', standings: [waits(2, 'nobody'), waits(3, 'concierge')] });
  chat.type('/now be brief').press('return');
  expect(chat.did('now')).toEqual([]);
  expect(chat.screen.join('\n')).toContain('nobody works on a message of yours here');
  chat.on({ type: 'standings', standings: [waits(1, 'concierge')] });
  chat.type('').press('return');
  expect(chat.did('now')).toMatchObject([{ message: `${GENERAL}/${relPath(1)}` }]);
});

const file = (name: string): Attachment => attachmentOf(name, Buffer.from('12345'));

it('/attach sends files with the next message, and what is refused brings them back', () => {
  const chat = new Model().loaded();
  chat.type('/attach').press('return');
  expect(chat.screen.join('\n')).toContain('no file waits');
  chat.type('/attach ~/notes.txt').press('return');
  expect(chat.did('attach')).toEqual([{ do: 'attach', file: '~/notes.txt', waiting: [] }]);
  chat.type('look at it').press('return');
  expect([chat.did('send'), chat.state.input.text]).toEqual([[], 'look at it']);
  expect(chat.screen.join('\n')).toContain('a file is still being read; press Enter again');
  chat.on({ type: 'attached', attachment: file('notes.txt') });
  expect(chat.screen.join('\n')).toContain('with: notes.txt, 5 bytes');
  chat.press('return');
  expect(chat.did('send')).toMatchObject([{ body: 'look at it', attached: [{}] }]);
  expect(chat.screen.join('\n')).not.toContain('with: ');
  const sent = entry(5, 'anna', 'concierge');
  const refused = { entry: sent, typed: 'look at it', text: 'no', attached: [file('notes.txt')] };
  chat.on({ type: 'sending', entry: sent }).on({ type: 'refused', ...refused });
  expect(chat.state.input.text).toBe('look at it');
  expect(chat.screen.join('\n')).toContain('with: notes.txt, 5 bytes');
  chat.press('ctrl-c').type('/attach nowhere').press('return');
  chat.on({ type: 'notAttached', text: 'no such file' });
  expect(chat.screen.join('\n')).toContain('no such file');
  chat.type('/attach -').press('return').type('without').press('return');
  expect(chat.did('send')).toMatchObject([{ body: 'without' }]);
  expect(chat.state.attached).toEqual([]);
});

it('/copy takes the last answer of somebody else, or the message it names', () => {
  const chat = new Model().loaded();
  chat.type('/copy').press('return');
  expect(chat.screen.join('\n')).toContain('no answer here to copy');
  chat
    .press('ctrl-c')
    .loaded(
      entry(1, 'anna', 'concierge'),
      entry(2, 'concierge', 'anna', { re: [relPath(1)] }),
      entry(3, 'anna', 'concierge'),
    );
  chat.type('/copy').press('return').type('/copy 0123abcd').press('return');
  expect(chat.did('copy').map(({ message }) => message)).toEqual([
    `${GENERAL}/${relPath(2)}`,
    '0123abcd',
  ]);
});

it('a copied text is between the marks of a terminal in base64 alone, and a long one is refused', () => {
  const copied = toClipboard('a\u001b]52;c;AAAA\u0007\u202eb\n\tc\n');
  const sequence = copied.ok ? copied.sequence : '';
  expect([sequence.slice(0, 7), sequence.at(-1)]).toEqual(['\u001b]52;c;', '\u0007']);
  const base64 = sequence.slice(7, -1);
  expect(base64).toMatch(/^[A-Za-z0-9+/=]*$/);
  const text = Buffer.from(base64, 'base64').toString();
  expect(text).toMatch(/^a.*b\n\tc$/s);
  // eslint-disable-next-line no-control-regex -- what must not be there
  expect(text).not.toMatch(/[\u001b\u0007\u202e]/);
  const long = toClipboard('x'.repeat(80_000));
  expect(long.ok ? '' : long.problem).toContain('a terminal takes 73');
});
