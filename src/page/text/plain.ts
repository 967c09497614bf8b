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
    .replace(/[|:\s-]+/g, withoutRule)
    .replace(/\s+/g, ' ')
    .trim();
}

/** A blank and what is left of a table's bars and rules behind it is one blank. */
function withoutRule(run: string, at: number): string {
  const start = at === 0 ? 0 : run.search(/\s/);
  return start >= 0 && run.lastIndexOf('|') >= start ? `${run.slice(0, start)} ` : run;
}
