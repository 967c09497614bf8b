import { FROM, type CommandSpec } from '../command/spec.ts';

/** The row of the command table for a conversation with people and agents on the terminal. */
export const CHAT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'chat',
    args: '[channel]',
    summary: 'a conversation on the terminal; piped: each line is sent, answers are printed',
    details: [
      'On a terminal: channels, the conversation as it grows, and a line to type in; /help shows',
      'the keys. Without a screen (piped, TERM=dumb, --json) it ends when the input has ended and',
      'everything is answered; exit code 3 when it waited in vain.',
    ].join('\n'),
    options: [
      FROM,
      [
        '--to <names>',
        'who is spoken to when nobody is named (default: the only actor, concierge)',
      ],
      ['--timeout <time>', 'without a screen: how long to wait for answers (default: 600)'],
    ],
    interrupt: 'clean',
    example: 'crosstalk chat',
    lines: true,
    load: () => import('../commands/chat.ts'),
  },
];
