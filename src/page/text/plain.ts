import { tokensOf } from './markdown.ts';

/** The words of some markdown on one line, without its marks: for links and excerpts. */
export function plainOf(markdown: string): string {
  const parts = tokensOf(markdown).flatMap(({ type, content, children }) => {
    if (type === 'inline')
      return (children ?? []).map((one) => (one.type.endsWith('break') ? ' ' : one.content));
    return type === 'fence' || type === 'code_block' ? [content] : [' '];
  });
  return parts
    .join('')
    .replace(/(^|\s)[|:\s-]*\|[|:\s-]*/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
