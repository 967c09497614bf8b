/** A count with separators between thousands. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** An amount of US dollars; `-` where no CLI stated any. */
export function dollars(usd: number | null): string {
  return usd === null ? '-' : `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** A number from 0 to `most`, which YAML without types may have read as text. */
export function amount(value: unknown, most: number): number | undefined {
  const isText = typeof value === 'string' && /^\d{1,15}(?:\.\d{1,15})?(?:e-\d{1,2})?$/.test(value);
  if (typeof value !== 'number' && !isText) return undefined;
  const number = Number(value);
  return number >= 0 && number <= most ? number : undefined;
}
