import type { CommandSpec } from '../command/spec.ts';

/** The row of the command table for the live page of the bus. */
export const WEB_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'web',
    summary: 'a live page of the whole bus, on this machine; Ctrl-C ends it',
    options: [
      ['--port <n>', 'where it listens (default: 7777); 0 for any that is free'],
      ['--host <address>', 'the address it listens on (default: 127.0.0.1, this machine alone)'],
      ['--public-url <url>', 'what a tunnel or proxy shows it as, like https://bus.example.org'],
      ['--token <token>', 'what lets a browser in (default: a random one, new at each start)'],
      ['--open', 'open it in the browser'],
      ['--read-only', 'let nobody write'],
      ['--allow-approve', 'let it approve and deny although other machines can reach it'],
    ],
    details:
      'Prints an address that has the token in it. Another --host than this machine takes a --token of your own. Behind a tunnel from another port, or a proxy, --public-url names what the browser is to open.',
    interrupt: 'clean',
    example: 'crosstalk web --open',
    load: () => import('../commands/web.ts'),
  },
];
