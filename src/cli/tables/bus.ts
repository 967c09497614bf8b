import { FROM, HOST, type CommandSpec } from '../command/spec.ts';

/** The rows of the command table that are about channels, actors and host files. */
export const BUS_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'channel',
    summary: 'make and list channels',
    options: [
      ['--name <name>', 'make a channel of this name'],
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    inRun: true,
    example: 'crosstalk channel --name release --description "Everything about 2.0."',
    load: () => import('../commands/channel.ts'),
  },
  {
    name: 'channel create',
    args: '<name>',
    summary: 'make a channel; prints its id',
    options: [
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    inRun: true,
    example: 'crosstalk channel create release',
    load: () => import('../commands/channel.ts'),
  },
  {
    name: 'channel list',
    summary: 'the channels: messages, the last one, and what is unread for a name',
    options: [['--for <name>', 'whose unread messages: those since it last wrote (default: you)']],
    inRun: true,
    example: 'crosstalk channel list --json',
    load: () => import('../commands/channel.ts'),
  },
  {
    name: 'actor list',
    summary: 'the actors and the hosts that serve them',
    inRun: true,
    example: 'crosstalk actor list',
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'actor show',
    args: '<name>',
    summary: 'one actor with its system prompt',
    inRun: true,
    example: 'crosstalk actor show concierge',
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'actor add',
    args: '<name>',
    summary: 'let this machine serve an actor, and approve its command',
    options: [
      ['--cli <command>', 'claude, codex, gemini, opencode, qwen, pi, or a command line'],
      ['--tier <tier>', 'the tier this command is for (default: default)'],
      ['--workdir <dir>', 'where it works (default: an empty folder for each thread)'],
      ['--description <text>', 'for a new profile'],
      HOST,
    ],
    example: 'crosstalk actor add reviewer --cli claude --description "Reviews diffs."',
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'host show',
    summary: 'this machine’s host file, and the changes that are held',
    options: [HOST],
    example: 'crosstalk host show',
    load: () => import('../commands/host.ts'),
  },
  {
    name: 'host approve',
    args: '[digest...]',
    summary: 'accept held changes, named by the digests that host show prints',
    details:
      'Without a digest it asks on a terminal, for each change; nothing is fetched meanwhile.',
    options: [HOST],
    example: 'crosstalk host approve 1f2e3d4c5b6a',
    load: () => import('../commands/host.ts'),
  },
];
