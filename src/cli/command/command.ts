import { withoutCredentials } from '../../credentials.ts';
import type { Context } from '../../operations/context.ts';
import type { Io } from './io.ts';

/** Options as commander gives them: camelCase, values as strings; a list for a repeatable one. */
export type Options = Record<string, string | boolean | string[] | undefined>;

/** One invocation of a command. */
export interface Call {
  io: Io;
  /** `send`, `channel create`, … for messages. */
  name: string;
  args: (string | undefined)[];
  options: Options;
}

/** A command's module: does its work and returns the exit code. */
export interface CommandModule {
  run: (call: Call) => Promise<number>;
}

/** An option's text, or undefined. */
export function text({ options }: Call, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** What a repeatable option was given, in order. */
export function list({ options }: Call, name: string): string[] {
  const value = options[name];
  return Array.isArray(value) ? value : [];
}

export function flag({ options }: Call, name: string): boolean {
  return options[name] === true;
}

/** `{key: value}` of an option that was given, for spreading into an input. */
export function given<K extends string>(call: Call, ...names: K[]): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const name of names) {
    const value = text(call, name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/**
 * What is to be searched for. The shell takes quotes away: among several arguments one with blanks in
 * it was a phrase; a single one is everything that is looked for, as it was typed.
 */
export function wordsOf({ args }: Call): string {
  const words = args.map((word) => word ?? '');
  const isPhrase = (word: string): boolean =>
    words.length > 1 && /\s/.test(word) && !word.includes('"');
  return words.map((word) => (isPhrase(word) ? `"${word}"` : word)).join(' ');
}

/** One line of diagnosis on stderr. */
export function note({ io, name }: Call, line: string): void {
  io.err(`crosstalk ${name}: ${withoutCredentials(line)}\n`);
}

/** Opens the transport the call is about; a command that needs none does not load what it takes. */
export async function inTransport<T>(
  call: Call,
  work: (context: Context) => Promise<T>,
  anyVersion: boolean | 'told' = false,
): Promise<T> {
  const { io } = call;
  const { withContext } = await import('../../operations/context.ts');
  return withContext(
    {
      env: io.env,
      cwd: io.cwd,
      ...(io.agentMode && { agentMode: io.agentMode }),
      ...(io.timeAndChance && { timeAndChance: io.timeAndChance }),
    },
    {
      note: (line) => {
        note(call, line);
      },
      anyVersion,
      ...given(call, 'transport'),
    },
    work,
  );
}

/** Prints a result: JSON with `--json`, else as `render` puts it. Returns exit code 0. */
export function print(call: Call, value: unknown, render: () => string): number {
  const body = flag(call, 'json') ? JSON.stringify(value, undefined, 2) : render();
  if (body !== '') call.io.out(`${body}\n`);
  return 0;
}
