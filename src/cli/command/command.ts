import { withoutCredentials } from '../../credentials.ts';
import type { Context } from '../../actions/context.ts';
import { escapeLines } from '../../protocol/text/quoted.ts';
import type { Io } from './io.ts';

/**
 * Options as commander returns them: names in camelCase, values as strings, and a list for a
 * repeatable option.
 */
export type CommandOptions = Record<string, string | boolean | string[] | undefined>;

/** One invocation of a command. */
export interface Call {
  io: Io;
  /** `send`, `channel create` and so on, for messages. */
  name: string;
  args: (string | undefined)[];
  options: CommandOptions;
}

/** Part of a call from which its options are read. */
export type Options = Pick<Call, 'options'>;

/** Returns the value of an option, or undefined. */
export function text({ options }: Options, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns the values of a repeatable option, in order. */
export function list({ options }: Options, name: string): string[] {
  const value = options[name];
  return Array.isArray(value) ? value : [];
}

export function flag({ options }: Options, name: string): boolean {
  return options[name] === true;
}

/** `{key: value}` for every named option that was given, to be spread into an input. */
export function given<K extends string>(call: Options, ...names: K[]): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const name of names) {
    const value = text(call, name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/**
 * Returns the words to search for. The shell removes quotes: among several arguments, one that contains blanks was a
 * quoted phrase; a single argument is the complete query, as it was typed.
 */
export function wordsOf({ args }: Call): string {
  const words = args.map((word) => word ?? '');
  const isPhrase = (word: string): boolean =>
    words.length > 1 && /\s/.test(word) && !word.includes('"');
  return words.map((word) => (isPhrase(word) ? `"${word}"` : word)).join(' ');
}

/** Writes one line of diagnosis to stderr. */
export function note({ io, name }: Call, line: string): void {
  io.err(`crosstalk ${name}: ${escapeLines(withoutCredentials(line))}\n`);
}

/**
 * Opens the transport of the call. A command that needs no transport does not load the code for it.
 */
export async function inTransport<T>(
  call: Call,
  work: (context: Context) => Promise<T>,
  { anyVersion = false }: { anyVersion?: boolean | 'told' } = {},
): Promise<T> {
  const { io } = call;
  const { withContext } = await import('../../actions/context.ts');
  return withContext(
    {
      env: io.env,
      cwd: io.cwd,
      ...(io.agentMode && { agentMode: io.agentMode }),
      ...(io.clock && { clock: io.clock }),
    },
    {
      note: (line) => {
        note(call, line);
      },
      anyVersion,
      ...given(call, 'transport'),
    },
    async (context) => {
      const { beginSeen } = await import('../../actions/lookup/seen.ts');
      await beginSeen(context);
      return work(context);
    },
  );
}

/** Makes a command that works in the transport of its call. */
export function usingTransport(
  work: (call: Call, context: Context) => Promise<number>,
): (call: Call) => Promise<number> {
  return (call) => inTransport(call, (context) => work(call, context));
}

/** Prints a result: JSON with `--json`, otherwise as `render` formats it. Returns exit code 0. */
export function print(call: Call, value: unknown, render: () => string): number {
  const body = flag(call, 'json')
    ? JSON.stringify(value, undefined, flag(call, 'jsonl') ? 0 : 2)
    : render();
  if (body !== '') call.io.out(`${body}\n`);
  return 0;
}

/** Whether an answer to a question agrees. */
export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
