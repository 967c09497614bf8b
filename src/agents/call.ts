import { scan, type Word } from './words.ts';

/** A simple command: what is set for it, what starts it, its program and what that is given. */
export interface Call {
  /** `NAME=value` words, in order, wherever they stand before the program. */
  assignments: { name: string; value: string }[];
  /** Everything before the program. */
  before: Word[];
  program: Word;
  args: Word[];
}

const ASSIGNMENT = /^([A-Za-z_][A-Za-z0-9_]*)=/;
/** Programs, and words of the shell, that do nothing but start another. */
const STARTERS = new Set(['exec', 'env', 'command', 'nice']);

/**
 * A command line that is one simple command and nothing else: the one case in which the program
 * knows what is started, and with which arguments. Undefined when only a shell can tell.
 */
export function plainCall(line: string): Call | undefined {
  const { words, whole } = scan(line);
  return whole ? callOf(words) : undefined;
}

/** The first simple command of a line, whatever a shell makes of the rest. */
export function leadingCall(line: string): Call | undefined {
  return callOf(scan(line).words);
}

/** The name of the program, whatever folder it is in. */
export function programName({ program: { raw, value } }: Call): string {
  return (value ?? raw.replace(/["']/g, '')).split('/').at(-1) ?? '';
}

function callOf(words: readonly Word[]): Call | undefined {
  const assignments: Call['assignments'] = [];
  for (const [at, word] of words.entries()) {
    const name = ASSIGNMENT.exec(word.raw)?.[1];
    if (name !== undefined) {
      const value = word.raw.slice(name.length + 1).replace(/^(["'])(.*)\1$/s, '$2');
      assignments.push({ name, value });
    } else if (!STARTERS.has(word.value ?? '')) {
      // Options of a starter take values in their own ways; what follows is not for us to guess.
      if (at > 0 && word.raw.startsWith('-')) return undefined;
      return { assignments, before: words.slice(0, at), program: word, args: words.slice(at + 1) };
    }
  }
  return undefined;
}
