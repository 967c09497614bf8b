import { ALLOW_SECRET, ATTACH, FROM, NO_SECRETS, type CommandSpec } from '../command/spec.ts';

/** The rows of the command table for answering people and actors. */
export const TALKING_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'reply',
    args: '<message> [text] [-]',
    summary: 'answer a message, or ask further in its thread',
    options: [
      ['--option <n>', 'choose this one of the answers that the message offers'],
      ['--again', 'although you have answered it already'],
      FROM,
      ['--tier <tier>', 'the model tier asked for'],
      ['--file <path>', 'take the text from a file'],
      ATTACH,
      ALLOW_SECRET,
      ['--no-wait', 'return as soon as the message is safely queued'],
    ],
    inRun: NO_SECRETS,
    details:
      'Goes to the writer of the message, in its channel; an actor wakes with the whole thread. After a final answer it asks anew. A text that is only the number of an option chooses it; a text beside --option stands below it. To a question for permission an option decides, as crosstalk approve and deny do.',
    example: 'crosstalk reply 1f2e3d4c "yes, but leave the tests alone"',
    load: () => import('../commands/talk/reply.ts'),
  },
  {
    name: 'cancel',
    args: '<message>',
    summary: 'take a message back: what waits for it or runs for it is ended',
    options: [
      ['--reason <text>', 'why, for the record'],
      ['--only', 'leave the tasks that its addressees gave to others for it'],
      ['--as-operator', 'take back what others wrote and no host serves'],
      FROM,
      ['--no-wait', 'return as soon as the cancellation is safely queued'],
    ],
    details:
      'Only whoever wrote a message can take it back; what no host serves, any person may with --as-operator. Its runs are ended on every host that works on it, and the tasks that were given to others for it too. What was finished before is not taken back. Whoever waits for the answer is told.',
    example: 'crosstalk cancel 1f2e3d4c --reason "the tests are fixed"',
    load: () => import('../commands/talk/cancel.ts'),
  },
  {
    name: 'inbox',
    summary: 'what came for you, unread first, and what asks you something',
    options: [
      ['--questions', 'only what asks you something and was not answered by you'],
      ['-f, --follow', 'go on with what comes, until Ctrl-C'],
      ['--done <message>', 'mark a message as read, or all'],
      ['--count', 'only how many: unread messages, or with --questions those that ask'],
      ['--limit <n>', 'at most so many, the newest (default: 20)'],
      ['--from <name>', 'for whom (default: CROSSTALK_FROM, git config crosstalk.from, login)'],
    ],
    interrupt: 'clean',
    details:
      'Read is what was shown to you whole on this machine (by ask, wait, replies, read, the chat, or this list on a terminal), or marked with --done. Of what was there before this machine kept count, what is older than your last word in its channel counts as read.',
    example: 'crosstalk inbox',
    paged: true,
    lines: true,
    load: () => import('../commands/talk/inbox.ts'),
  },
];
