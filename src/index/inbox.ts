import { messageKey, type MessageRef } from '../protocol/layout.ts';
import { EVERYONE } from '../protocol/address.ts';
import { number, text, type Database } from '../store/sqlite.ts';
import type { Index } from './index.ts';
import { columnsOf, hashOf, relPathIn } from './keys.ts';
import { AUTOMATIC, MAY_ASK, PROPOSES } from './writer.ts';

/** Most questions to a name that are examined, the newest first: most were answered long ago. */
const MOST_QUESTIONS = 2000;
/** Most messages that are examined to find out whether a name answered a question. */
const MOST_LINKS = 1000;

/**
 * Finds the messages of a channel to a name, directly or to all, the newest first, without those of a schedule or a
 * subscription, which are news for nobody.
 *
 * @param after only those with a greater relPath; may be empty
 */
export function addressedIn(
  { database }: Index,
  { channel, name, after }: { channel: string; name: string; after: string },
): string[] {
  const here = `tags : c${idOf(database, 'channels', 'uuid', channel)}`;
  const [own, all] = [nameId(database, name), nameId(database, EVERYONE)];
  const { day, clock, suffix } = after === '' ? { day: 0, clock: 0, suffix: '' } : columnsOf(after);
  const rows = database.all(
    `SELECT m.* FROM texts JOIN messages m ON m.id = texts.rowid
     WHERE texts MATCH ? AND (m.day, m.clock, m.suffix) > (?, ?, ?) ORDER BY m.id DESC`,
    `(${here} AND (tags : t${own} OR tags : t${all})) NOT (tags : s${own} OR tags : ${AUTOMATIC})`,
    day,
    clock,
    suffix,
  );
  return rows.map(relPathIn);
}

/** Finds the newest message that a name has written in a channel up to a relPath; `otherwise` if none is newer. */
export function lastWritten(
  { database }: Index,
  { channel, name, upTo }: { channel: string; name: string; upTo: string },
  otherwise: string,
): string {
  const here = `tags : c${idOf(database, 'channels', 'uuid', channel)}`;
  const { day, clock, suffix } = columnsOf(upTo);
  const row = database.get(
    `SELECT m.* FROM texts JOIN messages m ON m.id = texts.rowid
     WHERE texts MATCH ? AND (m.day, m.clock, m.suffix) <= (?, ?, ?) ORDER BY m.id DESC LIMIT 1`,
    `(${here} AND tags : s${nameId(database, name)}) NOT tags : ${AUTOMATIC}`,
    day,
    clock,
    suffix,
  );
  const found = row === undefined ? '' : relPathIn(row);
  return found > otherwise ? found : otherwise;
}

/** Finds the newest messages to a name, directly or to all, in all channels, the newest first. */
export function addressedTo({ database }: Index, name: string, limit: number): MessageRef[] {
  const [own, all] = [nameId(database, name), nameId(database, EVERYONE)];
  return placesOf(database, `(tags : t${own} OR tags : t${all}) NOT tags : s${own}`, limit);
}

/**
 * Finds the messages that may ask a name something and that none of its messages names, the newest first.
 * Proposals are included even if one names them: a message of that name closes a proposal only if it is a
 * decision that counts. A message to all asks nobody in particular.
 */
export function* unansweredBy(
  { database }: Index,
  name: string,
): Generator<MessageRef & { proposes: boolean }> {
  const own = nameId(database, name);
  const wanted = (tags: string): string => `(tags : t${own} AND ${tags}) NOT tags : s${own}`;
  const proposals = new Set(
    placesOf(database, wanted(`tags : ${PROPOSES}`), MOST_QUESTIONS).map(messageKey),
  );
  for (const place of placesOf(database, wanted(`tags : ${MAY_ASK}`), MOST_QUESTIONS)) {
    const proposes = proposals.has(messageKey(place));
    if (proposes || !isNamedBy(database, place, own)) yield { ...place, proposes };
  }
}

/** Whether anybody has ever asked a name to decide on something. */
export function hasProposals({ database }: Index, name: string): boolean {
  return (
    placesOf(database, `tags : t${nameId(database, name)} AND tags : ${PROPOSES}`, 1).length > 0
  );
}

/** Finds the messages of a name that may name another message of its channel, the newest first. */
export function namedBy(
  { database }: Index,
  { channel, relPath }: MessageRef,
  name: string,
  limit: number,
): MessageRef[] {
  const sender = nameId(database, name);
  const ids = linksTo(database, { channel, relPath }).filter((id) => isBy(database, id, sender));
  return ids
    .toSorted((a, b) => b - a)
    .slice(0, limit)
    .flatMap((id) => database.all('SELECT * FROM messages WHERE id = ?', id))
    .map((row) => ({ channel, relPath: relPathIn(row) }));
}

function isNamedBy(database: Database, place: MessageRef, own: string): boolean {
  return linksTo(database, place).some((id) => isBy(database, id, own));
}

function linksTo(database: Database, { channel, relPath }: MessageRef): number[] {
  return database
    .all(
      'SELECT DISTINCT message FROM links WHERE target = ? LIMIT ?',
      hashOf(channel, relPath),
      MOST_LINKS,
    )
    .map((row) => number(row, 'message'));
}

/**
 * Whether a message is from a sender.
 *
 * @param sender the number of a name
 */
function isBy(database: Database, id: number, sender: string): boolean {
  const byThem = 'SELECT 1 FROM texts WHERE texts MATCH ? AND rowid = ?';
  return database.get(byThem, `tags : s${sender}`, id) !== undefined;
}

function placesOf(database: Database, wanted: string, limit: number): MessageRef[] {
  const rows = database.all(
    `SELECT c.uuid, m.* FROM texts JOIN messages m ON m.id = texts.rowid
     JOIN channels c ON c.id = m.channel
     WHERE texts MATCH ? ORDER BY texts.rowid DESC LIMIT ?`,
    wanted,
    limit,
  );
  return rows.map((row) => ({ channel: text(row, 'uuid'), relPath: relPathIn(row) }));
}

/** Returns the number of a name in `tags`; 0, which no name has, for one that never occurred. */
function nameId(database: Database, name: string): string {
  return idOf(database, 'names', 'name', name);
}

function idOf(
  database: Database,
  table: 'names' | 'channels',
  column: string,
  value: string,
): string {
  const row = database.get(`SELECT id FROM ${table} WHERE ${column} = ?`, value);
  return String(number(row ?? {}, 'id'));
}
