import { CrosstalkError } from '../../errors.ts';
import { sentJson } from '../../operations/shapes/as-json.ts';
import type { SendInput, Sent } from '../../operations/sending/input.ts';
import { send, type Sender } from '../../operations/sending/send.ts';
import { noteLeftOut, readBody } from '../command/body.ts';
import { EXIT } from '../command/exit.ts';
import { flag, given, inTransport, note, print, text, type Call } from '../command/command.ts';

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
    isNew: flag(call, 'new'),
    wait: call.options['wait'] !== false,
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
  await send(sender, input, {
    onDurable: () => {
      io.lastWord(
        'crosstalk send: interrupted; the message is queued, do not send it again: it is pushed by the dispatcher or by: crosstalk sync\n',
      );
    },
    onSent: (sent) => {
      io.lastWord('');
      report(call, sent);
    },
  });
  await noteLeftOut(call);
  return EXIT.ok;
}

function report(call: Call, sent: Sent): void {
  const { delivered, messages } = sent;
  if (!delivered.published) note(call, `queued, not on the remote yet: ${delivered.reason}`);
  const word = delivered.published ? 'Sent' : 'Queued';
  print(call, sentJson(sent), () =>
    messages.map(({ relPath }) => `${word}: ${relPath}`).join('\n'),
  );
}
