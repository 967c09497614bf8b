import MarkdownIt, { type Token } from 'markdown-it';
import { safeLink } from './links.ts';

/**
 * HTML is text here. A link that {@link safeLink} refuses is not made one, so that what was written
 * stays to be seen.
 */
const reader = new MarkdownIt('default', { html: false, linkify: true, typographer: false });
reader.validateLink = (href) => safeLink(href) !== undefined;
// Only what says that it is an address: "README.md" is a file and "e.g.it" a slip.
reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });

/** Longer texts, in characters, are shown as they were written. */
export const MARKDOWN_LIMIT = 200_000;

/** The tokens of a message's text; see markdown-it for what they mean. */
export function tokensOf(text: string): Token[] {
  return reader.parse(text, {});
}

/** A token and what stands between its opening and its closing one. */
export interface Node {
  token: Token;
  children: Node[];
}

/** The tree that markdown-it's flat list of opening and closing tokens stands for. */
export function treeOf(tokens: readonly Token[]): Node[] {
  const root: Node[] = [];
  const open: Node[][] = [root];
  for (const token of tokens) {
    const siblings = open.at(-1) ?? root;
    if (token.nesting < 0) {
      open.pop();
      continue;
    }
    const node: Node = { token, children: treeOf(token.children ?? []) };
    siblings.push(node);
    if (token.nesting > 0) open.push(node.children);
  }
  return root;
}
