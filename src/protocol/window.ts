import { CHANNELS, MEMORIES } from './layout.ts';

const MAX_DAYS = 3660;

/**
 * Parses the number of days of messages that a checkout shows, from `7d` or `7`.
 *
 * @returns undefined for all days (`all`), null for an invalid window
 */
export function parseWindow(text: string): number | undefined | null {
  if (text === 'all') return undefined;
  const days = Number(/^(\d{1,4})d?$/.exec(text)?.[1]);
  return days >= 1 && days <= MAX_DAYS ? days : null;
}

/**
 * Returns the folders of a checkout that shows the last days of every channel, and everything that is not a message
 * (protocol.md §1). Files next to a folder of a path are included, therefore so is every CHANNEL.md.
 *
 * @param days the number of days, including today (UTC)
 */
export function windowFolders(channels: readonly string[], days: number, today: Date): string[] {
  const dates = Array.from({ length: days }, (_, back) => {
    const day = new Date(today);
    day.setUTCDate(day.getUTCDate() - back);
    return day.toISOString().slice(0, 10).replaceAll('-', '/');
  });
  // Clocks differ, so messages that another machine dates tomorrow are shown too.
  const ahead = new Date(today);
  ahead.setUTCDate(ahead.getUTCDate() + 1);
  dates.unshift(ahead.toISOString().slice(0, 10).replaceAll('-', '/'));
  return [
    'hosts',
    'local',
    'upstream',
    MEMORIES,
    ...channels.flatMap((id) => dates.map((date) => `${CHANNELS}/${id}/${date}`)),
  ];
}
