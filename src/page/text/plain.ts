import { tokensOf } from './markdown.ts';

/** Returns the words of a markdown text on one line, without its syntax: for links and excerpts. */
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

/** Reduces a blank, and the remains of a table's bars and rules after it, to one blank. */
function withoutRule(run: string, at: number): string {
  const start = at === 0 ? 0 : run.search(/\s/);
  return start >= 0 && run.lastIndexOf('|') >= start ? `${run.slice(0, start)} ` : run;
}
