import { wordsOf } from './words.ts';
import { withoutTrailing } from '../protocol/text/trailing.ts';

/** Where a command line is looked at, as absolute paths. */
export interface Places {
  /** Folders that are the transport, under each name it has. */
  transport: readonly string[];
  home: string;
}

/** Paths a command line names, as far as its text tells; see {@link namedPaths}. */
export interface NamedPaths {
  absolute: string[];
  /** Relative to the folder the command starts in. */
  relative: string[];
}

/** Folders of a transport: what a relative path in them is for, nobody can mistake. */
const OURS = /^(?:upstream|local|hosts|data)\/./;
const TRANSPORT = /\$(?:CROSSTALK_TRANSPORT\b|\{CROSSTALK_TRANSPORT[^}]*\}?)/g;
const HOME = /\$(?:HOME\b|\{HOME\})/g;
/** What ends a path in the text of a shell. */
const END = /[\s"'`;|&<>()]/;
const SHELL_OPTION = /^-[a-z]*c$/;
const MAX_DEPTH = 3;

/**
 * The paths that a command line may name: its words, what follows `=` and `:` in them, the scripts
 * it hands to a shell with `-c`, and every mention of the transport's folder in its text. A plain
 * reading of the text, not a shell: it is to keep an operator from a mistake, and what arrives is
 * approved by a person besides (trust.md §2).
 */
export function namedPaths(command: string, places: Places): NamedPaths {
  const [transport = '/'] = places.transport;
  const expanded = command.replace(TRANSPORT, () => transport).replace(HOME, () => places.home);
  const named = new Set([...mentions(expanded, places), ...pieces(expanded, 0)]);
  const paths = [...named].map((path) =>
    path === '~' || path.startsWith('~/') ? places.home + path.slice(1) : path,
  );
  return {
    absolute: paths.filter((path) => path.startsWith('/')).map(normal),
    relative: paths.filter((path) => !path.startsWith('/')).map(normal),
  };
}

/** Whether a relative path lies in a folder that transports have. */
export function isOurs(relative: string): boolean {
  return OURS.test(relative);
}

/** Whether a normal absolute path is a folder, or lies in it. */
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

function pieces(command: string, depth: number): string[] {
  const words = wordsOf(command);
  if (words === undefined) return command.split(/[\s"'`;|&<>()=:,]+/).filter((one) => one !== '');
  return words.flatMap(({ raw, value }, at) => {
    const text = value ?? raw.replace(/["'\\]/g, '');
    const isScript = SHELL_OPTION.test(words[at - 1]?.value ?? '');
    if (isScript && depth < MAX_DEPTH) return pieces(text, depth + 1);
    if (/\s/.test(text)) return [];
    return [text, ...text.split(/[=:]/)].filter((one) => one !== '');
  });
}

/** A path without `.`, `..` and doubled slashes, as far as its text tells. */
function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '..' || !path.startsWith('/')) parts.push(part);
  }
  return (path.startsWith('/') ? '/' : '') + parts.join('/');
}
