import { parseDuration } from './duration.ts';

const MOMENT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses a time as people write it: `2026-06-09`, `2026-06-09T19:00` (local time unless it has a
 * zone), `90m`, `2h`, `3d` or `1w` ago, `today`, `yesterday`.
 *
 * @returns undefined for any other text
 */
export function parseSince(text: string, now: Date): Date | undefined {
  const ago = /^\d+$/.test(text) ? undefined : parseDuration(text);
  if (ago !== undefined) return new Date(now.getTime() - ago);
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
