import { describe, expect, it } from 'vitest';
import { desktopOf } from '../../src/runner/notify.ts';
import { waysOf, wording } from '../../src/actions/session/start.ts';
import { said } from '../support/messages.ts';

const NOTE = { summary: 'New from ann', body: 'a;b <i>&' };

describe('the desktop is reached', () => {
  const way = (env: NodeJS.ProcessEnv, platform = 'linux', programs = ['notify-send']): unknown => {
    const desktop = desktopOf(env, platform, (program) => programs.includes(program));
    if (desktop.kind === 'terminal') return desktop.format(NOTE);
    return desktop.kind === 'program' ? desktop.command(NOTE) : 'not at all';
  };
  const notifySend = [
    'notify-send',
    '--app-name=crosstalk',
    '--',
    'New from ann',
    'a;b &lt;i&gt;&amp;',
  ];
  it.each<[string, unknown, unknown]>([
    ['by notify-send on a desktop', way({ DISPLAY: ':0' }), notifySend],
    ['not without a desktop', way({}), 'not at all'],
    ['not without notify-send', way({ DISPLAY: ':0' }, 'linux', []), 'not at all'],
    ['not that of another machine', way({ DISPLAY: ':0', SSH_CONNECTION: 'x' }), 'not at all'],
    [
      'by a terminal that is known to do it, over ssh too',
      way({ TERM: 'foot', SSH_CONNECTION: 'x' }),
      '\x1b]777;notify;New from ann;a,b <i>&\x1b\\',
    ],
    [
      'by iTerm2, which has a sequence of its own',
      way({ TERM_PROGRAM: 'iTerm.app' }, 'darwin'),
      '\x1b]9;New from ann: a;b <i>&\x1b\\',
    ],
    ['not by a terminal behind tmux', way({ TERM_PROGRAM: 'ghostty', TMUX: 'x' }), 'not at all'],
  ])('%s', (_, found, expected) => {
    expect(found).toEqual(expected);
  });
  it('by osascript, to which the texts are arguments', () => {
    const command = way({}, 'darwin', ['osascript']) as string[];
    expect([command[0], ...command.slice(-2)]).toEqual(['osascript', NOTE.summary, NOTE.body]);
    expect(command.slice(1, -2).join(' ')).not.toContain('ann');
  });
});

describe('CROSSTALK_NOTIFY', () => {
  it.each([
    ['', ['title', 'bell', 'desktop']],
    ['off', []],
    ['title, desktop', ['title', 'desktop']],
  ])('%j', (value, ways) => {
    expect([...waysOf({ CROSSTALK_NOTIFY: value })]).toEqual(ways);
  });
  it('of another value says what is expected', () => {
    expect(() => waysOf({ CROSSTALK_NOTIFY: 'title,sound' })).toThrow(
      'CROSSTALK_NOTIFY is "title,sound", expected off or some of title, bell, desktop',
    );
  });
});

describe('the words of a notification', () => {
  const from = (name: string, body: string) => ({ ...said(1, name, 'op').message, body });
  it('say who wrote and how it begins', () => {
    expect(wording([from('ann', 'All  green.\n\nDetails follow.')], 'me')).toEqual({
      summary: 'New from ann',
      body: 'All green. Details follow.',
    });
    expect(wording([from('ann', 'x'), from('bob', 'y'), from('ann', 'z')], 'me')).toEqual({
      summary: '3 new: ann, bob',
      body: 'z',
    });
  });
  it('say that somebody asks, and what may be answered', () => {
    const asks = { ...said(2, 'bob', 'me').message, body: 'Which one?', options: ['a\u202e', 'b'] };
    const answer = { ...said(3, 'ann', 'me', { re: [1] }).message, body: 'done' };
    expect(wording([asks], 'me')).toEqual({
      summary: 'bob asked you something',
      body: 'Which one? 1) a\\u202e 2) b',
    });
    expect(wording([asks, answer], 'me')).toMatchObject({
      summary: '2 new: bob, ann; bob asked you something',
      body: expect.stringMatching(/^Which one/) as string,
    });
    expect(wording([answer], 'me').summary).toBe('New from ann');
  });
  it('hold nothing that a terminal would act on, and no more than one line', () => {
    const { body } = wording([from('ann', `\x1b]2;x\x07\u202e\u009b${'long '.repeat(100)}`)], 'me');
    expect(body).toMatch(/^\]2;x long [^\p{C}]{120,130}…$/u);
  });
});
