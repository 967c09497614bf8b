import { CrosstalkError } from '../../errors.ts';
import type { SendInput } from '../../operations/sending/input.ts';
import { send, type Sender } from '../../operations/sending/send.ts';
import { readAttachments } from '../command/attach.ts';
import { lookAtStdin, readBody } from '../command/body.ts';
import { readSchema } from '../command/schema.ts';
import { EXIT } from '../command/exit.ts';
import { flag, given, inTransport, list, note, text, type Call } from '../command/command.ts';
import { durableWord, printSent } from '../view/sent.ts';

export async function run(call: Call): Promise<number> {
  const { io } = call;
  const to = text(call, 'to');
  if (to === undefined)
    throw new CrosstalkError(
      'usage',
      '--to is missing; say to whom: crosstalk send --to <name> "<text>"',
    );
  const input: SendInput = {
    to,
    body: await readBody(call, 'message'),
    ...given(call, 'channel', 'from', 'tier', 'for'),
    options: list(call, 'option'),
    ...(await readSchema(call)),
    isNew: flag(call, 'new'),
    wait: call.options['wait'] !== false,
    allowSecret: flag(call, 'allowSecret'),
    login: io.login,
  };
  const sender: Sender = {
    surroundings: io,
    note: (line: string) => {
      note(call, line);
    },
    open: (work) => inTransport(call, work),
    hands: 'whole',
    ...given(call, 'transport'),
  };
  const noteLeftOut = lookAtStdin(call);
  await send(sender, input, {
    attachments: await readAttachments(call),
    onDurable: () => {
      durableWord(call);
    },
    onSent: (sent) => {
      printSent(call, sent);
    },
  });
  await noteLeftOut();
  return EXIT.ok;
}
