import { CHANNELS, MEMORIES } from './layout.ts';

const MAX_DAYS = 3660;

/**
 * How many days of messages a checkout shows, from `7d` or `7`.
 *
 * @returns undefined for all of them (`all`), null for what is no window
 */
export function parseWindow(text: string): number | undefined | null {
  if (text === 'all') return undefined;
  const days = Number(/^(\d{1,4})d?$/.exec(text)?.[1]);
  return days >= 1 && days <= MAX_DAYS ? days : null;
}

/**
 * The folders of a checkout that shows the last days of every channel, and everything that is no
 * message (protocol.md §1). Files beside a folder of a path come with it: so every CHANNEL.md.
 *
 * @param days how many, today (UTC) included
 */
export function windowFolders(channels: readonly string[], days: number, today: Date): string[] {
  const dates = Array.from({ length: days }, (_, back) => {
    const day = new Date(today);
    day.setUTCDate(day.getUTCDate() - back);
    return day.toISOString().slice(0, 10).replaceAll('-', '/');
  });
  // Clocks differ: what another machine dates tomorrow is shown too.
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
