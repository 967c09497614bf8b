import { ANSWERED, type CommandSpec } from '../command/spec.ts';

const load: CommandSpec['load'] = () => import('../commands/automation/subscription.ts');
const loadSecret: CommandSpec['load'] = () => import('../commands/automation/secret.ts');

/** The rows of the command table about subscriptions, events and secrets (automation.md). */
export const SUBSCRIBING_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'subscription list',
    summary: 'tasks that follow on answers and events: on what, for whom',
    example: 'crosstalk subscription list',
    paged: true,
    load,
  },
  {
    name: 'subscription add',
    args: '<name> [text] [-]',
    summary: 'let a task follow on every answer of an actor, or on an event',
    details:
      'The task is the text, then the answer or the payload. It is a file, local/subscriptions/<name>.md, which you can edit.',
    options: [
      ['--source <source>', 'answer:<actor> or event:<name>'],
      ['--to <addresses>', 'who gets the task: names, name@host, or all'],
      ANSWERED,
      ['--match <text>', 'only if this word is in it, or /regex/ matches (flags i, m and s)'],
      ['--once', 'fire only once'],
      ['--channel <channel>', 'the channel of the task (default: that of the answer)'],
      ['--tier <tier>', 'the tier that handles it'],
      ['--host <alias>', 'the host that fires (default: the one that has answered)'],
      ['--file <path>', 'take the text from a file, or from stdin with -'],
    ],
    example:
      'crosstalk subscription add review --source answer:coder --to reviewer "Review what was done:"',
    load,
  },
  {
    name: 'subscription show',
    args: '<subscription>',
    summary: 'one subscription with its file',
    example: 'crosstalk subscription show review',
    load,
  },
  {
    name: 'subscription pause',
    args: '<subscription>',
    summary: 'let nothing follow until --off',
    options: [['--off', 'let it go on']],
    example: 'crosstalk subscription pause review',
    load,
  },
  {
    name: 'subscription remove',
    args: '<subscription>',
    summary: 'remove a subscription; what it has given stays',
    example: 'crosstalk subscription remove review',
    load,
  },
  {
    name: 'event publish',
    args: '<source> [payload] [-]',
    summary: 'say that something has happened: subscriptions to it give their tasks',
    options: [
      [
        '--id <key>',
        'what makes it this event: the same one, also of another machine, counts once',
      ],
      ['--file <path>', 'take the payload from a file, or from stdin with -'],
    ],
    example: 'crosstalk event publish build --id 4711 "build 4711 is red"',
    load: () => import('../commands/automation/event.ts'),
  },
  {
    name: 'secret list',
    summary: 'the names of the secrets of this machine',
    example: 'crosstalk secret list',
    load: loadSecret,
  },
  {
    name: 'secret set',
    args: '<secret>',
    summary: 'keep a secret on this machine; the value is piped in, or typed',
    example: 'crosstalk secret set event.build',
    load: loadSecret,
  },
  {
    name: 'secret remove',
    args: '<secret>',
    summary: 'forget a secret',
    example: 'crosstalk secret remove event.build',
    load: loadSecret,
  },
];
