import type { SendInput } from '../../operations/sending/input.ts';
import { flag, given, list, type Options } from './command.ts';

/** What the options of `send` say of a message; its schema, which is read from a file, is added to that. */
export function sendInput(
  call: Options,
  { to, body, login }: { to: string; body: string; login: string },
): SendInput {
  return {
    to,
    body,
    ...given(call, 'channel', 'from', 'tier', 'for'),
    options: list(call, 'option'),
    isNew: flag(call, 'new'),
    anyway: flag(call, 'anyway'),
    wait: call.options['wait'] !== false,
    allowSecret: flag(call, 'allowSecret'),
    login,
  };
}
