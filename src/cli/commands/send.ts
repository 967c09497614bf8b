import { CrosstalkError } from '../../errors.ts';
import { sentJson } from '../../operations/shapes/as-json.ts';
import type { Sent } from '../../operations/sending/perform.ts';
import type { SendInput } from '../../operations/sending/input.ts';
import { submit } from '../../operations/sending/send.ts';
import { readBody } from '../command/body.ts';
import { EXIT } from '../command/exit.ts';
import { flag, given, note, print, text, type Call } from '../command/command.ts';

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
    onDurable: () => {
      io.lastWord(
        'crosstalk send: interrupted; the message is queued, do not send it again: it is pushed by the dispatcher or by: crosstalk sync\n',
      );
    },
  };
  const options = {
    note: (line: string) => {
      note(call, line);
    },
    ...given(call, 'transport'),
  };
  await submit(io, options, input, (sent) => {
    io.lastWord('');
    report(call, sent);
  });
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
