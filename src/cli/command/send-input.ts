import type { SendInput } from '../../operations/sending/input.ts';
import { flag, given, list, type Options } from './command.ts';

/** What the options of `send` say of a message; its schema, which is read from a file, is added to that. */
export function sendInput(
  call: Options,
  {
    to,
    body,
    login,
    isTerminal = false,
  }: { to: string; body: string; login: string; isTerminal?: boolean },
): SendInput {
  return {
    to,
    body,
    ...given(call, 'channel', 'from', 'tier', 'for'),
    options: list(call, 'option'),
    isNew: flag(call, 'new'),
    ...addressing(call, isTerminal),
    wait: call.options['wait'] !== false,
    allowSecret: flag(call, 'allowSecret'),
    login,
  };
}

/**
 * Whether names that nobody serves are refused: on a terminal, where somebody can correct them, and where it is asked
 * for. What a script sends waits until a host serves the name (cli.md).
 */
export function addressing(call: Options, isTerminal: boolean): Partial<SendInput> {
  if (flag(call, 'anyway')) return { anyway: true };
  return flag(call, 'strict') || isTerminal ? { strict: true } : {};
}
