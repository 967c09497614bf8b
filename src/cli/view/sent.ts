import { sentJson } from '../../operations/shapes/as-json.ts';
import type { Sent } from '../../operations/sending/input.ts';
import { note, print, type Call } from '../command/command.ts';

/** Lets a command that is interrupted from now on say that its message is safe. */
export function durableWord({ io, name }: Call): void {
  io.lastWord(
    `crosstalk ${name}: interrupted; the message is queued, do not send it again: it is pushed by the dispatcher or by: crosstalk sync\n`,
  );
}

/** Prints what became of a message that was sent. */
export function printSent(call: Call, sent: Sent): void {
  call.io.lastWord('');
  const { delivered } = sent;
  if (!delivered.published) note(call, `queued, not on the remote yet: ${delivered.reason}`);
  print(call, sentJson(sent), () => sentLines(sent));
}

/** A line for each message that was sent. */
export function sentLines({ delivered, messages }: Sent): string {
  const word = delivered.published ? 'Sent' : 'Queued';
  return messages.map(({ relPath }) => `${word}: ${relPath}`).join('\n');
}
