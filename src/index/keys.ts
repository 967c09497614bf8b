import { number, text, type Row } from '../store/sqlite.ts';

/** A relPath as the columns `day`, `clock` and `suffix`, stored as numbers to save space. */
export interface RelPathColumns {
  /** The digits YYYYMMDD. */
  day: number;
  /** The digits HHMMSSmmm. */
  clock: number;
  suffix: string;
}

export function columnsOf(relPath: string): RelPathColumns {
  const day = Number(relPath.slice(0, 10).replaceAll('/', ''));
  return { day, clock: Number(relPath.slice(11, 20)), suffix: relPath.slice(22, -3) };
}

export function relPathIn(row: Row): string {
  const day = String(number(row, 'day')).padStart(8, '0');
  const clock = String(number(row, 'clock')).padStart(9, '0');
  return `${day.slice(0, 4)}/${day.slice(4, 6)}/${day.slice(6)}/${clock}Z-${text(row, 'suffix')}.md`;
}

/**
 * Hashes a message to 53 bits (cyrb53, public domain); two messages may have the same hash.
 *
 * @param channel the channel's uuid
 */
export function hashOf(channel: string, relPath: string): number {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  const key = channel + relPath;
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
