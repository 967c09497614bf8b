import { number, type Database } from '../store/sqlite.ts';
import { columnsOf, relPathIn } from './keys.ts';

const CHANNEL = 'channel = (SELECT id FROM channels WHERE uuid = ?)';

/** Counts the messages of a channel that are older than this relPath. */
export function rankOf(database: Database, channel: string, relPath: string): number {
  const { day, clock, suffix } = columnsOf(relPath);
  const row = database.get(
    `SELECT count(*) AS count FROM messages
     WHERE (day, clock, suffix) < (?, ?, ?) AND ${CHANNEL}`,
    day,
    clock,
    suffix,
    channel,
  );
  return number(row ?? {}, 'count');
}

/**
 * Returns the relPaths of a channel's messages in the order of time, oldest first, without the first `skip` of them.
 */
export function slice(database: Database, channel: string, skip: number, limit: number): string[] {
  return database
    .all(
      `SELECT day, clock, suffix FROM messages WHERE ${CHANNEL}
       ORDER BY day, clock, suffix LIMIT ? OFFSET ?`,
      channel,
      limit,
      skip,
    )
    .map(relPathIn);
}
