import { sentJson } from '../../actions/shapes/as-json.ts';
import type { Sent } from '../../actions/sending/input.ts';
import type { SendOptions } from '../../actions/sending/send.ts';
import { note, print, type Call } from '../command/command.ts';
import { queuedLine } from '../../present/state.ts';

/** Lets a command that is interrupted say where its message is by then. */
export function whereWords({ io, name }: Call): Pick<SendOptions, 'onAsked' | 'onDurable'> {
  return {
    onAsked: () => {
      io.lastWord(handedWord(name));
    },
    onDurable: () => {
      io.lastWord(
        `crosstalk ${name}: interrupted; the message is queued, do not send it again: it is pushed by the dispatcher or by: crosstalk sync\n`,
      );
    },
  };
}

/** Words the end of a command that is interrupted after it has passed its message to the dispatcher. */
function handedWord(name: string): string {
  return `crosstalk ${name}: interrupted; the dispatcher has the message and may have sent it; before you send it again, look with: crosstalk log\n`;
}

/** Prints the outcome of a message that was sent. */
export function printSent(call: Call, sent: Sent): void {
  call.io.lastWord('');
  const { delivered } = sent;
  if (!delivered.published) note(call, queuedLine(delivered.reason));
  print(call, sentJson(sent), () => sentLines(sent));
}

/** Returns a line for each message that was sent. */
function sentLines({ delivered, messages }: Sent): string {
  const word = delivered.published ? 'Sent' : 'Queued';
  return messages.map(({ relPath }) => `${word}: ${relPath}`).join('\n');
}
