/** Formats a whole number with separators between thousands; the first number that `Intl` formats takes 14 ms. */
export function grouped(count: number): string {
  const digits = String(count);
  const parts: string[] = [];
  for (let end = digits.length; end > 0; end -= 3)
    parts.unshift(digits.slice(Math.max(0, end - 3), end));
  return parts.join(',');
}

/** Returns a count with its noun, such as `1 message` or `3 messages`. */
export function countOf(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats an amount of US dollars; `-` if no CLI stated any. */
export function dollars(usd: number | null): string {
  return usd === null ? '-' : `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** Parses a number from 0 to `most`, which YAML without types may have read as text. */
export function amount(value: unknown, most: number): number | undefined {
  const isText = typeof value === 'string' && /^\d{1,15}(?:\.\d{1,15})?(?:e-\d{1,2})?$/.test(value);
  if (typeof value !== 'number' && !isText) return undefined;
  const number = Number(value);
  return number >= 0 && number <= most ? number : undefined;
}
