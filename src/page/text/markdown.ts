import MarkdownIt, { type Token } from 'markdown-it';
import { withoutSequences } from '../../protocol/text/steering.ts';
import { safeLink } from './links.ts';

/**
 * HTML is treated as text. A link that {@link safeLink} refuses is not made into one, so that its
 * source stays visible.
 */
const reader = new MarkdownIt('default', { html: false, linkify: true, typographer: false });
reader.validateLink = (href) => safeLink(href) !== undefined;
// Only complete addresses become links: "README.md" is a file and "e.g.it" a typo.
reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });

/** Texts longer than this, in characters, are shown as they were written. */
export const MARKDOWN_LIMIT = 200_000;

/**
 * The tokens of a message's text; see markdown-it for their meaning. The colours that a command
 * printed for a terminal are left out.
 */
export function tokensOf(text: string): Token[] {
  return reader.parse(withoutSequences(text), {});
}

/** A token with the tokens between its opening and its closing one. */
export interface Node {
  token: Token;
  children: Node[];
}

/** Converts markdown-it's flat list of opening and closing tokens into a tree. */
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
