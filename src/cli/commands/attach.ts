import { attachOperator } from '../../actions/session/open.ts';
import { given, inTransport, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'attach',
    summary: 'your own agent CLI in operator mode',
    details:
      'Messages for you are announced by title, bell and desktop; CROSSTALK_NOTIFY=off: not.',
    options: [
      ['--agent <command>', 'the agent CLI (default: CROSSTALK_AGENT, else one on the PATH)'],
    ],
    interrupt: 'child',
    example: 'crosstalk attach',
    run,
  },
];

function run(call: Call): Promise<number> {
  const { login } = call.io;
  return inTransport(call, (context) =>
    attachOperator(context, { login, ...given(call, 'agent') }),
  );
}
