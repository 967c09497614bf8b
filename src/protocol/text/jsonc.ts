import { createScanner, getNodeValue, parseTree, visit, type Node } from 'jsonc-parser';
import { CrosstalkError } from '../../errors.ts';

export type { Node } from 'jsonc-parser';

const MAX_DEPTH = 100;
const AS_EDITORS_WRITE_IT = { allowTrailingComma: true, allowEmptyContent: true };

/** Token before a position in the text, which determines what has to follow. */
type Before = 'nothing' | 'opening' | 'comma' | 'name' | 'colon' | 'value';

/**
 * Parses JSON as editors write it: with comments and trailing commas.
 *
 * @returns undefined for a text of only blanks and comments
 * @throws CrosstalkError `invalid` with the line that cannot be read
 */
export function parseJsonc(text: string): Node | undefined {
  // A byte order mark is replaced by a blank, so that positions in the text stay the same.
  const content = text.startsWith('\ufeff') ? ` ${text.slice(1)}` : text;
  refuseFaults(content);
  return parseTree(content, [], AS_EDITORS_WRITE_IT);
}

export function valueOf(node: Node): unknown {
  // The parser's objects have no prototype, and would not equal any other object.
  return structuredClone(getNodeValue(node) as unknown);
}

/** Returns the member with this name; of several the last one, as in JSON.parse. */
export function member(node: Node | undefined, key: string): Node | undefined {
  if (node?.type !== 'object') return undefined;
  return node.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1];
}

/** Returns the position after a node. */
export function endOf({ offset, length }: Node): number {
  return offset + length;
}

/** Returns the position after the comma that follows a node; undefined if no comma follows. */
export function commaAfter(text: string, node: Node): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(endOf(node));
  scanner.scan();
  return text[scanner.getTokenOffset()] === ',' ? scanner.getPosition() : undefined;
}

/** Throws at the first error. The parser itself continues after an error, and as deep as the stack allows. */
function refuseFaults(text: string): void {
  const brackets: ('}' | ']')[] = [];
  let before: Before = 'nothing';
  const open = (bracket: '}' | ']', at: number): void => {
    if (brackets.length > MAX_DEPTH) fail(text, at, 'less nesting');
    brackets.push(bracket);
    before = 'opening';
  };
  const close = (at: number, length: number): void => {
    // The scanner also reports a missing end, at the end of the text.
    if (length === 0) fail(text, at, expected(before, brackets.at(-1)));
    brackets.pop();
    before = 'value';
  };
  visit(
    text,
    {
      onObjectBegin: (at) => {
        open('}', at);
      },
      onArrayBegin: (at) => {
        open(']', at);
      },
      onObjectEnd: close,
      onArrayEnd: close,
      onObjectProperty: () => {
        before = 'name';
      },
      onLiteralValue: () => {
        before = 'value';
      },
      onSeparator: (character) => {
        before = character === ':' ? 'colon' : 'comma';
      },
      onError: (_, at) => fail(text, at, expected(before, brackets.at(-1))),
    },
    AS_EDITORS_WRITE_IT,
  );
}

function expected(before: Before, bracket: '}' | ']' | undefined): string {
  if (before === 'name') return 'a colon';
  if (before === 'value') return bracket === undefined ? 'the end' : `a comma or ${bracket}`;
  return bracket === '}' && before !== 'colon' ? 'a name in double quotes' : 'a value';
}

function fail(text: string, at: number, expectation: string): never {
  const line = text.slice(0, at).split('\n').length;
  const seen = JSON.stringify(text.slice(at, at + 12).split('\n')[0]);
  throw new CrosstalkError(
    'invalid',
    `line ${String(line)}: expected ${expectation}, seen ${seen}`,
  );
}
