import type { MessageRef } from '../protocol/layout.ts';
import type { Memory } from '../protocol/files/memory.ts';
import type { Message } from '../protocol/message.ts';
import { apart } from '../protocol/text/apart.ts';
import { number, text, type Database } from '../store/sqlite.ts';
import { hashOf, columnsOf, relPathIn } from './keys.ts';
import { isQuestion } from '../protocol/causality.ts';
import { startedBy } from '../protocol/automation/occurrences.ts';
import { subscriptionOf } from '../protocol/automation/follow-up.ts';

/** A message in the form in which it is indexed. */
export interface IndexedMessage {
  channel: string;
  relPath: string;
  message: Message;
}

/** Content of a part of the tree. Paths are those of files in the transport. */
export interface IndexBatch {
  messages: IndexedMessage[];
  malformed: { path: string; reason: string }[];
  memories: { file: string; memory: Memory }[];
  /** Channels with their current names. */
  channels: { uuid: string; name: string }[];
  /** Messages that no longer exist, or were malformed before. */
  goneMessages: MessageRef[];
  goneMemories: string[];
  goneMalformed: string[];
}

export function emptyIndexBatch(): IndexBatch {
  return {
    messages: [],
    malformed: [],
    memories: [],
    channels: [],
    goneMessages: [],
    goneMemories: [],
    goneMalformed: [],
  };
}

/** The first id, which is far from both limits of JavaScript's integers. */
const FIRST_ID = 2 ** 40;
/** Most characters of an opening line. */
const OPENING = 200;

interface Counted {
  id: number;
  uuid: string;
  name: string;
  messages: number;
  last: string;
}

/** A writer of batches within a transaction of the caller. Writing a batch twice changes nothing. */
export class IndexWriter {
  readonly #database: Database;
  readonly #names = new Map<string, number>();
  readonly #channels = new Map<string, Counted>();
  /** Channels whose counts have to be written, and those of them that lost a message. */
  readonly #counted = new Set<Counted>();
  readonly #shrunk = new Set<Counted>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param older whether the messages are older than all that were written before */
  write(batch: IndexBatch, older: boolean): void {
    // Cached rows may have been rolled back, or changed by other processes.
    this.#names.clear();
    this.#channels.clear();
    for (const { uuid, name } of batch.channels) {
      const channel = this.#channel(uuid);
      if (channel.name === name) continue;
      channel.name = name;
      this.#database.run('UPDATE channels SET name = ? WHERE id = ?', name, channel.id);
    }
    for (const { channel, relPath } of batch.goneMessages) this.#removeMessage(channel, relPath);
    for (const path of batch.goneMalformed)
      this.#database.run('DELETE FROM malformed WHERE path = ?', path);
    let id = this.#freeIds(batch.messages.length, older);
    for (const message of batch.messages) this.#putMessage(message, id++);
    for (const { path, reason } of batch.malformed)
      this.#database.run('INSERT OR REPLACE INTO malformed VALUES (?, ?)', path, reason);
    for (const file of batch.goneMemories) this.#removeMemory(file);
    for (const { file, memory } of batch.memories) this.#putMemory(file, memory);
    this.#count();
  }

  #putMessage({ channel: uuid, relPath, message }: IndexedMessage, free: number): void {
    const channel = this.#channel(uuid);
    const id = this.#add(channel, relPath, free) ?? this.#find(channel, relPath) ?? free;
    for (const [targets, re] of [
      [message.re, 1],
      [message.cause, 0],
    ] as const)
      for (const target of targets)
        this.#database.run(
          'INSERT OR IGNORE INTO links VALUES (?, ?, ?)',
          hashOf(uuid, target),
          id,
          re,
        );
    const people = [message.from, ...new Set(message.to.map(({ name }) => name))];
    const numbers = people.map((name) => this.#name(name));
    this.#database.run(
      'INSERT INTO texts (rowid, opening, channel, body, tags) VALUES (?, ?, ?, ?, ?)',
      id,
      message.re.length === 0 ? firstLine(message.body) : '',
      indexed(channel.name),
      indexed(message.body),
      tagsOf(channel.id, numbers, message),
    );
  }

  /** Finds the id of a message that already exists, and removes its words and links. */
  #find(channel: Counted, relPath: string): number | undefined {
    const { day, clock, suffix } = columnsOf(relPath);
    const row = this.#database.get(
      'SELECT id FROM messages WHERE day = ? AND clock = ? AND suffix = ? AND channel = ?',
      day,
      clock,
      suffix,
      channel.id,
    );
    if (row === undefined) return undefined;
    const id = number(row, 'id');
    this.#database.run('DELETE FROM texts WHERE rowid = ?', id);
    this.#database.run('DELETE FROM links WHERE message = ?', id);
    return id;
  }

  /** Gives a message its id, unless it already has one. */
  #add(channel: Counted, relPath: string, id: number): number | undefined {
    const { day, clock, suffix } = columnsOf(relPath);
    const insert = 'INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?, ?)';
    if (this.#database.run(insert, id, channel.id, day, clock, suffix) === 0) return undefined;
    channel.messages++;
    if (relPath > channel.last) channel.last = relPath;
    this.#counted.add(channel);
    return id;
  }

  /** Returns the first of a number of free ids: below all others for older messages, otherwise above. */
  #freeIds(count: number, older: boolean): number {
    const sql = `SELECT ${older ? 'min' : 'max'}(id) AS id FROM messages`;
    const id = this.#database.get(sql)?.['id'];
    if (typeof id !== 'number') return FIRST_ID;
    return older ? id - count : id + 1;
  }

  #removeMessage(uuid: string, relPath: string): void {
    const channel = this.#channel(uuid);
    const id = this.#find(channel, relPath);
    if (id === undefined) return;
    this.#database.run('DELETE FROM messages WHERE id = ?', id);
    channel.messages--;
    this.#counted.add(channel);
    this.#shrunk.add(channel);
  }

  #count(): void {
    for (const channel of this.#shrunk) channel.last = this.#lastOf(channel);
    for (const { id, messages, last } of this.#counted)
      this.#database.run(
        'UPDATE channels SET messages = ?, last = ? WHERE id = ?',
        messages,
        last,
        id,
      );
    this.#counted.clear();
    this.#shrunk.clear();
  }

  #lastOf({ id }: Counted): string {
    const row = this.#database.get(
      'SELECT * FROM messages WHERE channel = ? ORDER BY day DESC, clock DESC, suffix DESC LIMIT 1',
      id,
    );
    return row === undefined ? '' : relPathIn(row);
  }

  #putMemory(file: string, memory: Memory): void {
    this.#removeMemory(file);
    const id = number(
      this.#database.get(
        'INSERT INTO memories (file, scope) VALUES (?, ?) RETURNING id',
        file,
        memory.scope,
      ) ?? {},
      'id',
    );
    this.#database.run(
      'INSERT INTO notes (rowid, subject, alias, body) VALUES (?, ?, ?, ?)',
      id,
      indexed(memory.subject),
      indexed(memory.alias.join(' ')),
      indexed(memory.body),
    );
  }

  #removeMemory(file: string): void {
    const row = this.#database.get('SELECT id FROM memories WHERE file = ?', file);
    if (row === undefined) return;
    this.#database.run('DELETE FROM notes WHERE rowid = ?', number(row, 'id'));
    this.#database.run('DELETE FROM memories WHERE id = ?', number(row, 'id'));
  }

  /** Returns the channel of a uuid, created if it is new; without a `CHANNEL.md` its name is its uuid. */
  #channel(uuid: string): Counted {
    const known = this.#channels.get(uuid);
    if (known !== undefined) return known;
    const row =
      this.#database.get('SELECT * FROM channels WHERE uuid = ?', uuid) ??
      this.#database.get(
        "INSERT INTO channels (uuid, name, messages, last) VALUES (?, ?, 0, '') RETURNING *",
        uuid,
        uuid,
      ) ??
      {};
    const channel: Counted = {
      id: number(row, 'id'),
      uuid,
      name: text(row, 'name'),
      messages: number(row, 'messages'),
      last: text(row, 'last'),
    };
    this.#channels.set(uuid, channel);
    return channel;
  }

  #name(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#database.run('INSERT OR IGNORE INTO names (name) VALUES (?)', name);
    const id = number(this.#database.get('SELECT id FROM names WHERE name = ?', name) ?? {}, 'id');
    this.#names.set(name, id);
    return id;
  }
}

function firstLine(body: string): string {
  return indexed((/\S.*/.exec(body)?.[0] ?? '').slice(0, OPENING));
}

/**
 * Returns a text in its indexed form: see {@link apart}; and without NUL characters, because SQLite's text
 * ends at a NUL.
 */
function indexed(value: string): string {
  return apart(value.includes('\0') ? value.replaceAll('\0', ' ') : value);
}

/** The word in `tags` of a message that may ask its addressees something. */
export const MAY_ASK = 'q';
/** The word of a message that cancels another one. */
export const TAKES_BACK = 'x';
/** The word of a message that asks for a decision. */
export const PROPOSES = 'p';
/** The word of a message that a schedule or a subscription has sent. */
export const AUTOMATIC = 'a';

/**
 * Returns the words by which messages are filtered in a search.
 *
 * @param channel its number
 * @param people the numbers of the sender and the addressees
 */
function tagsOf(
  channel: number,
  [sender = 0, ...addressees]: readonly number[],
  message: Message,
): string {
  const tags = [`c${String(channel)}`, `s${String(sender)}`];
  for (const addressee of addressees) tags.push(`t${String(addressee)}`);
  if (mayAsk(message)) tags.push(MAY_ASK);
  if (message.cancels !== undefined) tags.push(TAKES_BACK);
  if (message.proposal === true) tags.push(PROPOSES);
  if (isAutomatic(message)) tags.push(AUTOMATIC);
  return tags.join(' ');
}

/** Whether a message states that a schedule or a subscription has sent it, so that nobody has written it. */
export function isAutomatic(message: Message): boolean {
  return startedBy(message) !== undefined || subscriptionOf(message) !== undefined;
}

/**
 * Whether a message asks its addressees something, or does so unless an answer follows it. The output that a
 * run printed on the way asks nothing.
 */
function mayAsk(message: Message): boolean {
  const isWord = message.interim === true && message.printed !== true;
  return message.type === 'text' && (isQuestion(message) || isWord || message.proposal === true);
}
