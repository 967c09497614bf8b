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
    example: 'crosstalk agents --run claude',
    load: () => import('../commands/agents.ts'),
  },
];
