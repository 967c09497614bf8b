import { HOST, type CommandSpec } from '../command/spec.ts';

const load = (): ReturnType<CommandSpec['load']> => import('../commands/service.ts');

const SHARED_STATE = [
  '--shared-state',
  'the state directory may be on NFS, SMB, 9p and the like: only this machine uses it',
] as const;

const WAKE: CommandSpec = {
  name: 'dispatch wake',
  summary: 'tell the running dispatcher to look now',
  example: 'crosstalk dispatch wake',
  load: () => import('../commands/wake.ts'),
};

/** The rows of the command table about the dispatcher, about it as a service, and about its log. */
export const SERVICE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'dispatch',
    summary: 'run the dispatcher: deliver mail to this machine’s actors',
    options: [
      HOST,
      [
        '--interval <time>',
        'between polls when nothing happens (default: 5, or more for many transports)',
      ],
      ['--once', 'one full pass, then exit'],
      ['--from-now', 'new actors start at the tip instead of at what is unanswered'],
      ['--trust-host-file', 'run changed commands without approval'],
      ['--grace <time>', 'what running CLIs get to finish on stopping (default: 10)'],
      [
        '--log <file>',
        'append the log there instead of stderr; begun anew at 10 MiB, five are kept',
      ],
      ['--supervised', 'for service managers: end with 75 when a new version waits to be started'],
      SHARED_STATE,
    ],
    details:
      'An idle machine hears of other machines’ mail by its next poll, or at once where git config crosstalk.bell names a NATS server; status says which. Without --interval it polls every 5 seconds, more slowly where this machine serves many transports.',
    interrupt: 'clean',
    example: 'crosstalk dispatch',
    load: () => import('../commands/dispatch.ts'),
  },
  WAKE,
  { ...WAKE, name: 'wake', hidden: true },
  {
    name: 'service install',
    summary: 'let this machine keep the dispatcher of this transport running',
    details: [
      'Shows what it would write and asks. It takes the PATH and the login environment of this shell',
      'along, so run it where the agent CLIs work; keys only by name, with --env.',
    ].join('\n'),
    options: [
      HOST,
      ['--dry-run', 'only show what would be written and run'],
      ['--yes', 'do not ask'],
      ['--env <name>', 'take this variable along, such as an API key; repeatable', 'repeatable'],
      ['--no-start', 'write and enable it, but do not start it'],
      [
        '--system',
        'a systemd unit of the whole machine, started without anybody’s login; for root',
      ],
      ['--user <name>', 'whose agents --system runs (default: who called sudo)'],
      SHARED_STATE,
    ],
    example: 'crosstalk service install',
    load,
  },
  {
    name: 'service uninstall',
    summary: 'stop the service and remove it; mail and state stay',
    example: 'crosstalk service uninstall',
    load,
  },
  {
    name: 'service start',
    summary: 'start the service, and wait until it serves',
    example: 'crosstalk service start',
    load,
  },
  {
    name: 'service stop',
    summary: 'stop the service until it is started again, or the machine is',
    example: 'crosstalk service stop',
    load,
  },
  {
    name: 'service status',
    summary:
      'whether it runs, since when, which version, how it last ended; exit code 1 unless it runs',
    example: 'crosstalk service status',
    load,
  },
  {
    name: 'logs',
    summary: 'what the dispatcher did: the log of the service, or of dispatch --log',
    options: [
      ['-f, --follow', 'go on with what comes, until Ctrl-C'],
      ['--limit <n>', 'at most so many lines, the newest (default: 50)'],
      ['--level <level>', 'only from this level up: debug, info, warn, error'],
      ['--since <when>', 'only since a date, a date and time, today, or so long ago: 2h, 3d'],
      ['--file <path>', 'another log than that of the service'],
    ],
    interrupt: 'clean',
    example: 'crosstalk logs --follow',
    paged: true,
    lines: true,
    load: () => import('../commands/logs.ts'),
  },
];
