import { refreshOrNote } from '../../../actions/context.ts';
import { forgetMessage } from '../../../actions/lost-mail.ts';
import { inTransport, print, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'forget',
    args: '<message>',
    summary: 'withdraw a message of this machine that a remote which was set back lost',
    details:
      'It does not come back by itself then. A message that is on the bus stays there: crosstalk cancel takes back what it asks for.',
    example: 'crosstalk forget 1f2e3d4c',
    run,
  },
];

function run(call: Call): Promise<number> {
  const [message = ''] = call.args;
  return inTransport(call, async (context) => {
    await refreshOrNote(context);
    const path = await forgetMessage(context, message);
    return print(call, { path }, () => `Withdrawn: ${path}; it is not published again`);
  });
}
