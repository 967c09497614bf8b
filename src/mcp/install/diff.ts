const CONTEXT = 3;

/**
 * The difference of two texts in the format of `diff -u`: one piece from the first line that
 * differs to the last one, with three lines around it.
 *
 * @returns an empty text when nothing changes
 */
export function diffOf(before: string, after: string): string {
  if (before === after) return '';
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let top = 0;
  while (top < old.length && top < fresh.length && old[top] === fresh[top]) top++;
  let bottom = 0;
  const most = Math.min(old.length, fresh.length) - top;
  while (bottom < most && old.at(-1 - bottom) === fresh.at(-1 - bottom)) bottom++;
  const from = Math.max(0, top - CONTEXT);
  const lead = old.slice(from, top);
  const gone = old.slice(top, old.length - bottom);
  const come = fresh.slice(top, fresh.length - bottom);
  const trail = old.slice(old.length - bottom).slice(0, CONTEXT);
  const around = lead.length + trail.length;
  return [
    `@@ -${place(from, around + gone.length)} +${place(from, around + come.length)} @@`,
    ...lead.map((line) => ` ${line}`),
    ...gone.map((line) => `-${line}`),
    ...come.map((line) => `+${line}`),
    ...trail.map((line) => ` ${line}`),
  ].join('\n');
}

function place(from: number, count: number): string {
  return `${String(count === 0 ? from : from + 1)},${String(count)}`;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
