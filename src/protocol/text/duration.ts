/** The longest time that a timer can wait, in milliseconds. */
export const MAX_MS = 2 ** 31 - 1;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const DURATION = /^(\d{1,9}(?:\.\d{1,6})?)(ms|[smhdw])?$/;

/** A length of time as people write it, the largest unit first: `5m`, `1h30m`, `250ms`. @param ms whole milliseconds */
export function durationText(ms: number): string {
  const parts: string[] = [];
  let left = ms;
  for (const [unit, each] of Object.entries(UNITS).toSorted(([, a], [, b]) => b - a)) {
    const count = Math.floor(left / each);
    left -= count * each;
    if (count > 0) parts.push(`${String(count)}${unit}`);
  }
  return parts.length === 0 ? '0s' : parts.join('');
}

/**
 * Parses a length of time as people write it: `90` or `90s` for seconds, `500ms`, `5m`, `2h`, `3d`,
 * `1w`; and in parts, the largest first, `1h30m`.
 *
 * @returns milliseconds; undefined for any other text
 */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = DURATION.exec(text) ?? [];
  if (count !== undefined) return Number(count) * (UNITS[unit] ?? 0);
  let total = 0;
  let last = Infinity;
  const parts = /^(?:\d{1,9}(?:ms|[smhdw])){2,6}$/.test(text)
    ? text.matchAll(/(\d{1,9})(ms|[smhdw])/g)
    : [];
  for (const [, part = '', of = ''] of parts) {
    const each = UNITS[of] ?? 0;
    if (each >= last) return undefined;
    last = each;
    total += Number(part) * each;
  }
  return last === Infinity ? undefined : total;
}
