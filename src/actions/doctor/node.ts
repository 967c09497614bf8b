import type { Check } from './check.ts';

/**
 * Day on which each release line of Node gets its last repair, by its first number
 * (https://github.com/nodejs/release#release-schedule). A line that is not here is newer than this program.
 */
const LAST_REPAIR: Readonly<Record<number, string>> = {
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
};

/**
 * Names a Node that gets no repairs any more, which runs on as before: nothing is broken.
 *
 * @param version of Node, such as `20.19.4`
 * @returns nothing while it is maintained
 */
export function nodeCheck(version: string, now: Date): Check[] {
  const until = LAST_REPAIR[Number(version.split('.')[0])];
  if (until === undefined || now.toISOString().slice(0, 10) <= until) return [];
  const found = `${version}, which has had no security repairs since ${until}: install Node 24 or newer`;
  return [{ check: 'Node', ok: true, found, fix: '' }];
}
