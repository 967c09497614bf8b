import type { Context } from '../context.ts';
import { CHUNK, readFiles } from './arrivals.ts';
import { newestFirst } from './newest.ts';

/** The most messages in which a sign of a host is looked for. */
const LOOKED_AT = 500;

/**
 * When some hosts last wrote a message; null for those that wrote none of the newest ones. A host that
 * runs nothing writes nothing, so silence alone does not mean that a dispatcher is not running.
 *
 * @param hosts their aliases
 */
export async function lastHeard(
  context: Context,
  tip: string,
  hosts: ReadonlySet<string>,
): Promise<Map<string, string | null>> {
  const heard = new Map<string, string | null>();
  const channels = (await context.reader.channels(tip)).map(({ id }) => id);
  let left = LOOKED_AT;
  for await (const files of newestFirst(context, tip, channels, '')) {
    for (let at = 0; at < files.length && left > 0; at += CHUNK) {
      const some = files.slice(at, at + Math.min(CHUNK, left));
      left -= some.length;
      for (const { message } of await readFiles(context, some)) {
        const { host, timestamp } = message;
        if (host !== undefined && hosts.has(host) && (heard.get(host) ?? '') < timestamp)
          heard.set(host, timestamp);
      }
    }
    if (left <= 0 || heard.size === hosts.size) break;
  }
  for (const host of hosts) if (!heard.has(host)) heard.set(host, null);
  return heard;
}

/** How long ago something was, such as `5 min`. @param time ISO 8601 */
export function ago(time: string, now: Date): string {
  const minutes = Math.max(1, Math.round((now.getTime() - Date.parse(time)) / 60_000));
  if (minutes < 120) return `${String(minutes)} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${String(hours)} h` : `${String(Math.round(hours / 24))} d`;
}
