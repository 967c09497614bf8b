import { CHANNEL, HOST, type CommandSpec } from '../command/spec.ts';

export const TIMEOUT = [
  '--timeout <time>',
  'how long to wait: 90s, 5m, 2h, or seconds (default: 600); exit code 3 when it is over',
] as const;

/** Why a run may not wait. */
export const NO_WAITING =
  'a run that waits for mail to itself waits for ever; end, and you are woken by the answer';
const DECIDES =
  'what becomes of mail that failed is decided by an operator, in a terminal of their own';

/** The rows of the command table that show messages and their results, and wait for them. */
export const READING_COMMANDS: readonly CommandSpec[] = [
  {
    // `wait` that looks once, and may so be used by runs.
    name: 'replies',
    hidden: true,
    args: '[messages...]',
    summary: 'the replies to messages that are there now',
    options: [
      ['--re <messages>', 'the messages, separated by commas'],
      ['--wait', 'wait until each is answered'],
      TIMEOUT,
    ],
    inRun: { wait: NO_WAITING, timeout: NO_WAITING },
    example: 'crosstalk replies --wait 2026/06/09/190000000Z-1f2e3d4c.md',
    load: () => import('../commands/replies.ts'),
  },
  {
    name: 'wait',
    args: '<messages...>',
    summary: 'the replies to messages, as soon as they are answered',
    details:
      'With --timeout 0 it looks once: what is not answered is PENDING, and the exit code 3.',
    options: [
      ['--all', 'when each is answered (default)'],
      ['--any', 'when the first is answered'],
      TIMEOUT,
    ],
    notInRun: NO_WAITING,
    example: 'crosstalk wait 1f2e3d4c',
    load: () => import('../commands/replies.ts'),
  },
  {
    name: 'log',
    args: '[channel]',
    summary: 'the messages of a channel, or of all',
    options: [
      ['-f, --follow', 'go on with new ones as they come, until Ctrl-C'],
      ['--from <name>', 'only what this name wrote'],
      ['--to <name>', 'only what is addressed to this name'],
      ['--since <when>', 'only since a date, a date and time, today, or so long ago: 2h, 3d'],
      ['--limit <n>', 'at most so many, the newest (default: 20)'],
    ],
    interrupt: 'clean',
    inRun: { follow: NO_WAITING },
    example: 'crosstalk log',
    paged: true,
    lines: true,
    load: () => import('../commands/log.ts'),
  },
  {
    name: 'read',
    args: '<message>',
    summary: 'one message whole',
    options: [
      ['--raw', 'the file as it is in git'],
      [
        '--files <dir>',
        'put the files it brings along into this folder, or a new one in it if it holds others; each verified',
      ],
    ],
    inRun: true,
    example: 'crosstalk read 1f2e3d4c',
    paged: true,
    load: () => import('../commands/read.ts'),
  },
  {
    name: 'status',
    summary: 'health, host, actors, channels, cursors, outbox, dead letters',
    options: [
      HOST,
      [
        '--all',
        'also every host of the transport: its last word, and what it says runs, waits and failed',
      ],
      ['--check', 'exit with 1 while something is stuck, for scripts'],
    ],
    inRun: true,
    example: 'crosstalk status',
    paged: true,
    load: () => import('../commands/status.ts'),
  },
  {
    name: 'explain',
    args: '<message> <actor>',
    summary: 'why a message wakes an actor, or does not',
    inRun: true,
    example: 'crosstalk explain 1f2e3d4c concierge',
    load: () => import('../commands/explain.ts'),
  },
  {
    name: 'dlq',
    summary: 'the dead letters of this machine',
    options: [
      ['--list', 'one line each (default)'],
      ['--show <id>', 'everything about one: its id, the beginning of it, or a message in it'],
      ['--retry <id>', 'try one again, or all'],
      ['--drop <id>', 'forget one, or all; the messages stay on record'],
      ['--clear', 'forget all'],
      ['--yes', 'do not ask'],
    ],
    inRun: { retry: DECIDES, drop: DECIDES, clear: DECIDES, yes: DECIDES },
    example: 'crosstalk dlq',
    paged: true,
    load: () => import('../commands/dlq.ts'),
  },
  {
    name: 'outbox',
    summary: 'what waits on this machine to be pushed, or is held because it looks like a secret',
    options: [
      ['--list', 'one line each, without the secret (default)'],
      [
        '--allow-secret <id>',
        'let one go as it is, or all: whoever can read the transport reads it',
      ],
      ['--drop <id>', 'forget one, or all; who waits for an answer is told that there is none'],
    ],
    details:
      'Everything that this machine writes is searched for keys, tokens and passwords before it is pushed; git config crosstalk.scanSecrets false ends that. An answer that is dropped becomes a dead letter, which crosstalk dlq --retry runs again.',
    example: 'crosstalk outbox',
    load: () => import('../commands/talk/outbox.ts'),
  },
  {
    name: 'cost',
    summary: 'what runs have used: tokens, and money where the agent CLI states it',
    options: [
      [
        '--by <what>',
        'actor, tier, host, channel, thread, schedule, subscription, skill, session or day (default: actor)',
      ],
      ['--since <when>', 'only newer ones: 2026-06-09, 2h, 3d, today (default: 30 days)'],
    ],
    details:
      'Every run of this machine is counted, failed and silent ones too. Of other machines those are counted that gave an answer which tells what they used.',
    example: 'crosstalk cost --since today',
    paged: true,
    load: () => import('../commands/talk/cost.ts'),
  },
  {
    name: 'thread',
    args: '<message>',
    summary: 'who asked whom, what was answered, and what is still open',
    options: [['--cost', 'with what each run used, and the bill of the whole thread']],
    inRun: true,
    example: 'crosstalk thread 1f2e3d4c',
    paged: true,
    load: () => import('../commands/thread.ts'),
  },
  {
    name: 'search',
    args: '<words...>',
    summary: 'find messages by words, "phrases" and beginnings*, best first',
    options: [
      CHANNEL,
      ['--from <name>', 'only messages of this writer'],
      ['--since <when>', 'only newer ones: 2026-06-09, 2h, 3d, today'],
      ['--limit <n>', 'how many, at most 20 (default: 20)'],
      ['--skip <n>', 'leave out so many of the best, which were shown before'],
      ['--context <n>', 'with so many messages before and after each, at most 8'],
    ],
    inRun: true,
    example: 'crosstalk search rate limit',
    paged: true,
    load: () => import('../commands/search.ts'),
  },
];
