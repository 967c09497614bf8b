const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const AGO = /^(\d{1,6})([mhdw])$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses a time as people write it: `2026-06-09`, `2026-06-09T19:00` (local time unless it has a
 * zone), `90m`, `2h`, `3d` or `1w` ago, `today`, `yesterday`.
 *
 * @returns undefined for any other text
 */
export function parseSince(text: string, now: Date): Date | undefined {
  const [, count = '', unit = ''] = AGO.exec(text) ?? [];
  if (count !== '') return new Date(now.getTime() - Number(count) * (UNITS[unit] ?? 0));
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  if (text === 'today') return midnight;
  if (text === 'yesterday') {
    midnight.setDate(midnight.getDate() - 1);
    return midnight;
  }
  if (!MOMENT.test(text)) return undefined;
  // A date without a time would be read as UTC.
  const moment = new Date(text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T'));
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}
