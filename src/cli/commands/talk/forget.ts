import { refreshOrNote } from '../../../operations/context.ts';
import { forgetMessage } from '../../../operations/lost-mail.ts';
import { inTransport, print, type Call } from '../../command/command.ts';

export function run(call: Call): Promise<number> {
  const [message = ''] = call.args;
  return inTransport(call, async (context) => {
    await refreshOrNote(context);
    const path = await forgetMessage(context, message);
    return print(call, { path }, () => `Withdrawn: ${path}; it is not published again`);
  });
}
