import type { Call } from '../command/command.ts';

/** The same call, in which no line is said twice on stderr: sending and waiting find the same things. */
export function withoutRepeats(call: Call): Call {
  const said = new Set<string>();
  const err = (text: string): void => {
    if (!said.has(text)) call.io.err(text);
    said.add(text);
  };
  return { ...call, io: { ...call.io, err } };
}
