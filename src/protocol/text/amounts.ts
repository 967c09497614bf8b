/** A count with separators between thousands. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** An amount of US dollars; `-` where no CLI stated any. */
export function dollars(usd: number | null): string {
  return usd === null ? '-' : `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}
