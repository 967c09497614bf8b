/**
 * A table as text.
 *
 * @param names how many columns, from the left, hold words; the others hold numbers
 */
export function columns(names: number, lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const text = (cell: string, at: number): string =>
    at < names ? cell.padEnd(widths?.[at] ?? 0) : cell.padStart(widths?.[at] ?? 0);
  return `${lines.map((line) => line.map(text).join('  ').trimEnd()).join('\n')}\n`;
}
