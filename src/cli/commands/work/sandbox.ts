import { runInSandbox } from '../../../actions/sandbox/run.ts';
import { given, inTransport, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'sandbox run',
    args: '<command...>',
    summary: 'run a command in the sandbox of an actor, in this folder',
    options: [
      [
        '--actor <name>',
        'the sandbox of this actor of the machine (default: that of sandbox=default)',
      ],
      ['--tier <tier>', 'of this tier (default: the first one)'],
    ],
    interrupt: 'child',
    details: 'It may write to the current folder. What it may not reach is said on stderr.',
    example: 'crosstalk sandbox run -- npm test',
    run,
  },
];

function run(call: Call): Promise<number> {
  const words = call.args.flatMap((word) => word ?? []);
  return inTransport(call, (context) =>
    runInSandbox(context, { words, ...given(call, 'actor', 'tier') }),
  );
}
