import { runDemo } from '../../demo/demo.ts';
import { flag, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'demo',
    summary: 'two machines, a question, a delegation and one answer, here and now',
    standalone: true,
    options: [['--keep', 'leave it running to play with']],
    interrupt: 'clean',
    example: 'crosstalk demo',
    run,
  },
];

function run(call: Call): Promise<number> {
  return runDemo(call.io, { keep: flag(call, 'keep') });
}
