/**
 * Escapes a text so that roff shows it unchanged: no character is taken for a request or an escape.
 * Hyphens become minus signs, so that options can be searched for and copied.
 */
export function escaped(text: string): string {
  return (
    text
      .replaceAll('\\', '\\e')
      .replaceAll('-', '\\-')
      .replaceAll('’', '\\(cq')
      .replaceAll('…', '\\&...')
      .replaceAll("'", '\\(aq')
      .replaceAll('`', '\\(ga')
      .replaceAll('^', '\\(ha')
      .replaceAll('~', '\\(ti')
      // A line that begins with a dot would be read as a request.
      .replace(/^\./gm, '\\&.')
  );
}

/** Quotes an argument of a request, which may contain blanks. */
export function roffArgument(text: string): string {
  return `"${escaped(text).replaceAll('"', '\\(dq')}"`;
}

export const bold = (text: string): string => `\\fB${escaped(text)}\\fR`;
export const italic = (text: string): string => `\\fI${escaped(text)}\\fR`;

/** A term and its meaning, as in a list of options. */
export function item(term: string, meaning: string): string {
  return `.TP\n${term}\n${meaning}`;
}

/** Lines that are shown unchanged. */
export function verbatim(text: string): string {
  return `.PP\n.nf\n.RS 4\n${text.split('\n').map(escaped).join('\n')}\n.RE\n.fi`;
}
