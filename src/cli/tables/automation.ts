import { ANSWERED, type CommandSpec } from '../command/spec.ts';

const load: CommandSpec['load'] = () => import('../commands/automation/schedule.ts');

/** The rows of the command table about work that starts by itself (automation.md). */
export const AUTOMATION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'schedule list',
    summary: 'messages that are sent when they are due: when, to whom, and what became of the last',
    example: 'crosstalk schedule list',
    paged: true,
    load,
  },
  {
    name: 'schedule add',
    args: '<name> [text] [-]',
    summary: 'have a message sent when it is due; text from the argument, stdin or a file',
    details:
      'Say when with one of --cron, --every and --at. It is a file, local/schedules/<name>.md, which you can edit.',
    options: [
      ['--to <addresses>', 'who gets it: names, name@host, or all'],
      ['--cron <expression>', '5 fields, or 6 with seconds first, such as "0 9 * * 1-5"'],
      ['--every <duration>', 'such as 15m, 2h or 1d, counted from midnight UTC'],
      ['--at <time>', 'once, such as 2026-06-09T09:00+02:00'],
      ['--timezone <zone>', 'of --cron and --quiet, such as Europe/Berlin (default: the host’s)'],
      ['--channel <channel>', 'the channel: id, unique id prefix or name'],
      ['--tier <tier>', 'the tier that handles it'],
      ['--host <alias>', 'the host that sends it (default: this one)'],
      ['--quiet <span>', 'a span of each day in which nothing is sent, such as 23:00-07:00'],
      ['--catch-up <what>', 'last: a missed one is sent within the grace (default); none'],
      ['--grace <duration>', 'for how long a missed one may still be sent (default: 1h)'],
      ['--overlap', 'send it although the last one has no answer yet'],
      ANSWERED,
      ['--file <path>', 'take the text from a file, or from stdin with -'],
    ],
    example: 'crosstalk schedule add standup --to concierge --cron "0 9 * * 1-5" "What is open?"',
    load,
  },
  {
    name: 'schedule show',
    args: '<schedule>',
    summary: 'one schedule: its file, when it is due next, and what became of the last',
    example: 'crosstalk schedule show standup',
    load,
  },
  {
    name: 'schedule run',
    args: '<schedule>',
    summary: 'send what a schedule says now; its occurrences stay as they are',
    example: 'crosstalk schedule run standup',
    load,
  },
  {
    name: 'schedule pause',
    args: '<schedule>',
    summary: 'send nothing until --off; what comes due meanwhile is not made up for',
    options: [['--off', 'let it go on']],
    example: 'crosstalk schedule pause standup',
    load,
  },
  {
    name: 'schedule remove',
    args: '<schedule>',
    summary: 'remove a schedule; what it has sent stays',
    example: 'crosstalk schedule remove standup',
    load,
  },
];
