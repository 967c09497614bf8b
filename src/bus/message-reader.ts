import type { ThreadStart } from './thread-start.ts';
import { type FileRef, channelFiles, filesSince } from './channel-files.ts';
import { MAX_STEPS, type Lookup, seenFrom } from '../protocol/causality.ts';
import type { Channel } from '../protocol/files/channel.ts';
import { messageFile, placeOf, byChannel } from '../protocol/layout.ts';
import { parseMessage, type Located, type Message } from '../protocol/message.ts';
import { unreadable, type Parsed } from '../protocol/text/result.ts';
import type { Transport } from '../transport/transport.ts';
import { ChannelReader } from './channel-reader.ts';
import { Cache } from './cache.ts';
import { OddFiles } from './odd-files.ts';

/** Maximum bytes of messages, and of channels, that are cached. */
const KEPT_BYTES = 16 * 1024 * 1024;

/** Maximum number of messages in a chain, however many a hostile message names. */
const MAX_CHAIN = 2000;
/** Maximum characters of a chain's messages; beyond it only links are kept. */
const MAX_CHAIN_TEXT = 32 * 1024 * 1024;
const LEFT_OUT = '(left out: there is too much text in this thread)\n';
/** Number of messages read at a time; if more are requested, those with the same content are read once. */
const AT_A_TIME = 100;

/** A reader of messages and channels at a commit, through one open git process. */
export class MessageReader {
  readonly #transport: Transport;
  readonly #channels: ChannelReader;
  readonly #odd: OddFiles;
  readonly #messages = new Cache<Parsed<Message>>(KEPT_BYTES);
  /** Reads in progress, by the name of the object, so that an object in many places is read once. */
  readonly #reading = new Map<string, Promise<Parsed<Message> | undefined>>();

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#odd = new OddFiles(transport);
    this.#channels = new ChannelReader(transport);
  }

  /** Reads the message at a path; undefined when there is none, or none that can be read. */
  async message(commit: string, channel: string, relPath: string): Promise<Message | undefined> {
    const path = messageFile(channel, relPath);
    return (await this.#odd.among(commit, [path])).has(path) ? undefined : this.#at(commit, path);
  }

  async #at(commit: string, path: string): Promise<Message | undefined> {
    const object = await this.#transport.objects.read(`${commit}:${path}`);
    if (object?.type !== 'blob' || object.content === undefined) return undefined;
    const message = this.#parsed(object.oid, object.content);
    return message.ok ? message.value : undefined;
  }

  /** Reads the messages at some paths of a channel, with names relative to it, without unreadable ones. */
  async messages(
    commit: string,
    channel: string,
    relPaths: readonly string[],
    oids?: readonly string[],
  ): Promise<Located[]> {
    const found: Located[] = [];
    for await (const some of this.#some(commit, channel, relPaths, oids)) found.push(...some);
    return found;
  }

  /** Returns the senders of the messages at some paths of a channel. */
  async senders(
    commit: string,
    channel: string,
    relPaths: readonly string[],
  ): Promise<Map<string, string>> {
    const senders = new Map<string, string>();
    for await (const some of this.#some(commit, channel, relPaths))
      for (const { relPath, message } of some) senders.set(relPath, message.from);
    return senders;
  }

  /**
   * Reads messages some at a time: one message may name 1,600 messages of a megabyte each, or one message
   * that has as many names.
   */
  async *#some(
    commit: string,
    channel: string,
    relPaths: readonly string[],
    known?: readonly string[],
  ): AsyncGenerator<Located[]> {
    const { objects } = this.#transport;
    const files = relPaths.map((relPath) => messageFile(channel, relPath));
    const names = files.map((path) => `${commit}:${path}`);
    const odd = known === undefined ? await this.#odd.among(commit, files) : new Set();
    const oids = known ?? (names.length > AT_A_TIME ? await objects.ids(names) : undefined);
    for (let at = 0; at < relPaths.length; at += AT_A_TIME) {
      const read = relPaths.slice(at, at + AT_A_TIME).map(async (relPath, index) => {
        const path = files[at + index] ?? '';
        if (odd.has(path)) return { relPath, message: undefined };
        const oid = oids?.[at + index];
        const message = oids === undefined ? this.#at(commit, path) : this.#messageOf(oid);
        return { relPath, message: await message };
      });
      const found = (await Promise.all(read)).filter(
        (item): item is Located => item.message !== undefined,
      );
      yield found.map((located) => seenFrom(channel, channel, located));
    }
  }

  async #messageOf(oid: string | undefined): Promise<Message | undefined> {
    const parsed =
      oid === undefined ? undefined : await this.parse({ path: '', oid, mode: '100644' });
    return parsed?.ok === true ? parsed.value : undefined;
  }

  /**
   * Reads a file of a tree as a message: malformed when it is not a message (protocol.md §2),
   * undefined when its content is missing from this clone.
   */
  async parse(file: FileRef): Promise<Parsed<Message> | undefined> {
    if (file.mode === '120000') return unreadable('a symlink');
    if (file.mode === '160000') return unreadable('a submodule');
    if (file.mode === '040000') return unreadable(file.unread ?? 'a folder');
    const known = this.#messages.get(file.oid);
    if (known !== undefined) return known;
    const reading = this.#reading.get(file.oid) ?? this.#read(file.oid);
    this.#reading.set(file.oid, reading);
    return reading.finally(() => this.#reading.delete(file.oid));
  }

  async #read(oid: string): Promise<Parsed<Message> | undefined> {
    const object = await this.#transport.objects.read(oid);
    if (object === undefined) return undefined;
    if (object.content !== undefined) return this.#parsed(object.oid, object.content);
    const tooLarge = unreadable(`larger than 1 MiB: ${String(object.size)} bytes`);
    return this.#messages.keep(object.oid, tooLarge, 0);
  }

  #parsed(oid: string, content: Buffer): Parsed<Message> {
    return (
      this.#messages.get(oid) ??
      this.#messages.keep(oid, frozen(parseMessage(content)), content.byteLength)
    );
  }

  /**
   * Reads everything that the messages answer or were caused by, in any channel, back to its roots, for
   * the pure functions of protocol.md §3 and §4.
   */
  async chain(commit: string, channel: string, from: readonly Located[]): Promise<Lookup> {
    return (await this.chainBehind(commit, channel, from)).lookup;
  }

  /** Reads the same as {@link chain}, and returns the referenced messages that could not be read too. */
  async chainBehind(
    commit: string,
    channel: string,
    from: readonly Located[],
  ): Promise<{ lookup: Lookup; absent: string[] }> {
    const seen = from.map((located) => seenFrom(channel, channel, located));
    const known = new Map<string, Message | undefined>(
      seen.map(({ relPath, message }) => [relPath, message]),
    );
    let frontier: Message[] = seen.map(({ message }) => message);
    let text = 0;
    for (
      let step = 0;
      step < 2 * MAX_STEPS && frontier.length > 0 && known.size < from.length + MAX_CHAIN;
      step++
    ) {
      const wanted = new Set(frontier.flatMap(({ re, cause }) => [...re, ...cause]));
      const paths = [...wanted].filter((relPath) => !known.has(relPath)).slice(0, MAX_CHAIN);
      for (const relPath of paths) known.set(relPath, undefined);
      frontier = [];
      for (const [place, relPaths] of byChannel(channel, paths))
        for await (const some of this.#some(commit, place, relPaths))
          for (const located of some) {
            const { relPath, message } = seenFrom(channel, place, located);
            text += message.body.length;
            const kept = text <= MAX_CHAIN_TEXT ? message : { ...message, body: LEFT_OUT };
            known.set(relPath, kept);
            frontier.push(kept);
          }
    }
    const absent = [...known].flatMap(([path, message]) => (message === undefined ? [path] : []));
    return { lookup: (relPath) => known.get(relPath), absent };
  }

  /** Reads messages of a channel from the day before `relPath` on, by path; at most the first `limit`. */
  async since(commit: string, channel: string, relPath: string, limit: number): Promise<Located[]> {
    const paths: string[] = [];
    const oids: string[] = [];
    for await (const files of channelFiles(this.#transport, commit, channel, relPath)) {
      for (const { path, oid, mode } of files) {
        const place = placeOf(path);
        if (place.kind !== 'message' || !mode.startsWith('100')) continue;
        paths.push(place.relPath);
        oids.push(oid);
      }
      if (paths.length >= limit) break;
    }
    return this.messages(commit, channel, paths.slice(0, limit), oids);
  }

  /**
   * Reads the messages of a channel without their bodies, some at a time: all, or those since something
   * started.
   */
  async *headers(commit: string, channel: string, begun?: ThreadStart): AsyncGenerator<Located[]> {
    const all = begun
      ? filesSince(this.#transport, commit, channel, begun)
      : channelFiles(this.#transport, commit, channel, undefined);
    for await (const files of all)
      for (let at = 0; at < files.length; at += AT_A_TIME) {
        const read = files.slice(at, at + AT_A_TIME).map((file) => this.#headerOf(file));
        yield (await Promise.all(read)).filter((located) => located !== undefined);
      }
  }

  async #headerOf(file: FileRef): Promise<Located | undefined> {
    const place = placeOf(file.path);
    const message = place.kind === 'message' ? await this.parse(file) : undefined;
    if (place.kind !== 'message' || message?.ok !== true) return undefined;
    const header = { relPath: place.relPath, message: { ...message.value, body: '' } };
    return seenFrom(place.channel, place.channel, header);
  }

  /** Returns every channel; a channel without a readable `CHANNEL.md` is known by its id (protocol.md §9). */
  channels(commit: string): Promise<Channel[]> {
    return this.#channels.all(commit);
  }
  channel(commit: string, id: string): Promise<Channel> {
    return this.#channels.one(commit, id);
  }

  text(commit: string, path: string): Promise<string | undefined> {
    return this.#transport.objects.text(commit, path);
  }
}

/** Freezes a message, as all callers get the same object. */
function frozen(result: Parsed<Message>): Parsed<Message> {
  if (result.ok) {
    const { to, re, cause, origin, options, failed, files = [], permission, extra } = result.value;
    const lists = [...to, to, re, cause, origin, options, ...files, files];
    const parts = [...lists, failed, permission, permission?.marks, extra];
    for (const part of [...parts, result.value]) Object.freeze(part);
  }
  return Object.freeze(result);
}
