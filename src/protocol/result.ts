/** What a reader of untrusted text returns: the typed value, or every problem found in it. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: string[] };

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function unreadable(...problems: string[]): Parsed<never> {
  return { ok: false, problems };
}

/** A value from a file, short and on one line, fit for an error message. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const flat = [...text].map((c) => (c < ' ' || c === '\u007f' ? ' ' : c)).join('');
  return `"${flat.length > 60 ? `${flat.slice(0, 57)}...` : flat}"`;
}
