import { reply } from '../../../operations/sending/reply.ts';
import { readAttachments } from '../../command/attach.ts';
import { lookAtStdin, readBody } from '../../command/body.ts';
import { flag, given, inTransport, text, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/exit.ts';
import { assertText } from '../../command/skill-call.ts';
import { durableWord, printSent } from '../../view/sent.ts';

export async function run(call: Call): Promise<number> {
  const [message = '', ...words] = call.args;
  const said: Call = { ...call, args: words };
  const body = await bodyOf(said);
  await assertText(call, body);
  const input = {
    message,
    body,
    ...given(call, 'from', 'tier', 'option'),
    isNew: false,
    wait: call.options['wait'] !== false,
    allowSecret: flag(call, 'allowSecret'),
    login: call.io.login,
  };
  const attachments = await readAttachments(call);
  const noteLeftOut = input.body === '' ? undefined : lookAtStdin(said);
  await inTransport(call, (context) =>
    reply(context, input, {
      attachments,
      onDurable: () => {
        durableWord(call);
      },
      onSent: (sent) => {
        printSent(call, sent);
      },
    }),
  );
  await noteLeftOut?.();
  return EXIT.ok;
}

/** An option needs no text, so stdin is read only where it is asked for. */
async function bodyOf(call: Call): Promise<string> {
  const isChosen = text(call, 'option') !== undefined;
  const hasText = call.args[0] !== undefined || text(call, 'file') !== undefined;
  return isChosen && !hasText ? '' : readBody(call, 'reply');
}
