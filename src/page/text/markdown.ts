import MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';
import { withoutSequences } from '../../protocol/text/words.ts';

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
 * Returns the tokens of a message's text; see markdown-it for their meaning. The colours that a command printed for a
 * terminal are left out.
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

/** The schemes of links that may be followed; any other link stays text. */
const SCHEMES: readonly string[] = ['http:', 'https:', 'mailto:'];

/**
 * Returns the address a link of a message leads to, or undefined for one that is not followed: a link with any scheme
 * except http, https and mailto, and an address relative to this page.
 */
export function safeLink(href: string): string | undefined {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return undefined;
  }
  return SCHEMES.includes(url.protocol) ? url.href : undefined;
}
