import { commandLine, inHome, type Word } from './command-line.ts';
import { withoutTrailing } from '../protocol/text/quoted.ts';

/** The folders against which a command line is examined, as absolute paths. */
export interface Places {
  /** The folders of the transport, under each of their names. */
  transport: readonly string[];
  home: string;
}

/** Paths a command line names, as far as its text alone determines them; see {@link namedPaths}. */
export interface NamedPaths {
  absolute: string[];
  /** Paths relative to the folder the command starts in. */
  relative: string[];
}

/** Top folders of a transport: a relative path in one of them cannot mean anything else. */
const OURS = /^(?:upstream|local|hosts|data)\/./;
const TRANSPORT = /\$(?:CROSSTALK_TRANSPORT\b|\{CROSSTALK_TRANSPORT[^}]*\}?)/g;
/** A character that ends a path in the text of a shell. */
const END = /[\s"'`;|&<>()]/;
/** Options whose next word is a script: of a shell, and of `env`. */
const SCRIPT_OPTION = /^(?:-[a-zA-Z]*[cS]|--split-string)$/;
const SPLIT_HERE = /^(?:-[a-zA-RT-Z]*S|--split-string=)([^]*)$/;
/** Empty lines around a command. */
const MORE_LINES = /^[ \t]*\n|\n[ \t]*$/;
const MAX_DEPTH = 3;

/**
 * Finds the paths that a command line may name: its words, the text after `=` and `:` in them, the scripts it
 * passes to a shell (`-c`, `eval`, `env -S`), and every mention of the transport's folder in its text. The
 * text is only read, not evaluated: this protects an operator from a mistake, while commands that arrive from
 * elsewhere are approved by a person anyway (trust.md §2).
 */
export function namedPaths(command: string, places: Places): NamedPaths {
  const [transport = '/'] = places.transport;
  const expanded = inHome(
    command.replace(TRANSPORT, () => transport),
    places.home,
  );
  const named = new Set([...mentions(expanded, places), ...pieces(expanded, 0)]);
  const paths = [...named].filter((path) => path !== '').map((path) => inHome(path, places.home));
  return {
    absolute: paths.filter((path) => path.startsWith('/')).map(normal),
    relative: paths.filter((path) => !path.startsWith('/')).map(normal),
  };
}

/** Whether a relative path is in a folder that every transport has. */
export function isOurs(relative: string): boolean {
  return OURS.test(relative);
}

/** Whether a normalized absolute path is a folder, or is in it. */
export function isIn(path: string, folder: string): boolean {
  const root = withoutTrailing(folder, /\//);
  return path === root || path.startsWith(`${root}/`);
}

function mentions(text: string, { transport }: Places): string[] {
  return transport.flatMap((folder) => {
    const found: string[] = [];
    for (let at = text.indexOf(folder); at >= 0; at = text.indexOf(folder, at + 1)) {
      const length = text.slice(at).search(END);
      found.push(length < 0 ? text.slice(at) : text.slice(at, at + length));
    }
    return found;
  });
}

function* pieces(command: string, depth: number): Iterable<string> {
  const { words, rest, whole } = commandLine(command);
  const all = [...words, ...rest];
  let evaluated = false;
  for (const [at, word] of all.entries()) {
    const script = evaluated ? word.text : scriptAt(all, at);
    evaluated ||= word.text === 'eval';
    if (script !== undefined && depth < MAX_DEPTH) yield* pieces(script, depth + 1);
    // First without quotes, as a shell reads the word, then without any quote character.
    for (const text of new Set([word.text, word.raw.replace(/["'\\]/g, '')]))
      if (!/\s/.test(text)) yield* [text, ...text.split(/[=:]/)];
  }
  // If only a shell can parse the line, every piece of it may be a path.
  if (!whole || MORE_LINES.test(command)) yield* command.split(/[\s"'`;|&<>()=:,]+/);
}

/** Returns the script that a word is, or contains, because of the option that precedes it or that it begins with. */
function scriptAt(words: readonly Word[], at: number): string | undefined {
  const text = words[at]?.text ?? '';
  const before = words[at - 1]?.text === '--' ? words[at - 2] : words[at - 1];
  return SCRIPT_OPTION.test(before?.text ?? '') ? text : SPLIT_HERE.exec(text)?.[1];
}

/** Normalizes a path without `.`, `..` and doubled slashes, as far as its text alone determines it. */
function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '..' || !path.startsWith('/')) parts.push(part);
  }
  return (path.startsWith('/') ? '/' : '') + parts.join('/');
}
