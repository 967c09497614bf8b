/** A text as one word of a line for `/bin/sh`, which replaces nothing in it. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
