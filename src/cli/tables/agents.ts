import type { CommandSpec } from '../command/spec.ts';

/** The rows of the command table that are about the agent CLIs of this machine. */
export const AGENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'agents',
    args: '[agents...]',
    summary: 'the known agent CLIs on this machine, and whether they work',
    details:
      'With --run each answers one word, which costs what a short question costs there; exit code 1 when one does not.',
    options: [
      ['--run', 'let each answer one word'],
      ['--timeout <time>', 'how long a run may take (default: 90)'],
    ],
    standalone: true,
    interrupt: 'clean',
    example: 'crosstalk agents',
    load: () => import('../commands/agents.ts'),
  },
  {
    name: 'guide',
    args: '[topic]',
    summary: 'what an agent can read up on in a run: sending, files, notes, ...',
    standalone: true,
    inRun: true,
    example: 'crosstalk guide files',
    load: () => import('../commands/work/guide.ts'),
  },
  {
    name: 'watch',
    args: '[actor|message]',
    summary: 'what runs of this machine print, as they print it',
    options: [
      ['-f, --follow', 'go on with the next runs, until Ctrl-C'],
      ['--timeout <s>', 'stop after so long, and end with exit code 3 (default: never)'],
    ],
    details: [
      'Without an argument all runs under way, or the next one to begin. It ends when they end; of a',
      'message that was handled it shows what its run printed. Of claude, codex, opencode and pi in a plain',
      'call: the text, the tools called and the tokens so far. Of other machines nothing is known here.',
    ].join('\n'),
    notInRun: 'what runs print may be secret, and is for the operator of the machine',
    interrupt: 'clean',
    lines: true,
    example: 'crosstalk watch concierge',
    load: () => import('../commands/talk/watch.ts'),
  },
];
