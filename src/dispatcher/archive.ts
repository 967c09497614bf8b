import type { Lookup } from '../protocol/causality.ts';
import { MAX_STEPS } from '../protocol/causality.ts';
import { parseChannel, type Channel } from '../protocol/channel.ts';
import { channelFile, CHANNELS, messageFile } from '../protocol/layout.ts';
import { parseMessage, type Located, type Message } from '../protocol/message.ts';
import { isChannelId } from '../protocol/names.ts';
import { unreadable, type Parsed } from '../protocol/result.ts';
import { Repeats, type Transport } from '../transport/transport.ts';
import { filesSince } from './files-since.ts';
import { Kept } from './kept.ts';

/** A file as a tree or a comparison of trees names it. */
export interface FileRef {
  path: string;
  oid: string;
  mode: string;
  /** Of a folder that was not entered: why. */
  unread?: string;
}

/** Of messages, and of channels, that are kept as they were read. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** Where there are more channels, each of their files is read once, at the cost of another look. */
const MANY_CHANNELS = 1000;

/** No chain reads more messages than this, however many a hostile message names. */
const MAX_CHAIN = 2000;
/** Of the messages of a chain so many letters are kept; of what is beyond only whom it links. */
const MAX_CHAIN_TEXT = 32 * 1024 * 1024;
const LEFT_OUT = '(left out: there is too much text in this thread)\n';
/** Messages read at a time. Where more are wanted, those of one content are read once. */
const AT_A_TIME = 100;

/** Messages and channels as they stand at a commit, read through one open git process. */
export class Archive {
  readonly #transport: Transport;
  readonly #channels = new Kept<Omit<Channel, 'id'> | { name?: undefined }>(KEPT_BYTES);
  readonly #messages = new Kept<Parsed<Message>>(KEPT_BYTES);
  /** By name of the object: one that stands at many places is read once. */
  readonly #reading = new Map<string, Promise<Parsed<Message> | undefined>>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The message at a path; undefined when there is none there, or none that can be read. */
  async message(commit: string, channel: string, relPath: string): Promise<Message | undefined> {
    const object = await this.#transport.objects.read(`${commit}:${messageFile(channel, relPath)}`);
    if (object?.type !== 'blob' || object.content === undefined) return undefined;
    const message = this.#parsed(object.oid, object.content);
    return message.ok ? message.value : undefined;
  }

  /**
   * The messages at some paths of a channel; those that cannot be read are left out.
   *
   * @param oids of their contents, where they are known already
   */
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

  /** Who sent the messages at some paths of a channel. */
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

  /** Some at a time: one message may name 1,600, each of a megabyte, or one under so many names. */
  async *#some(
    commit: string,
    channel: string,
    relPaths: readonly string[],
    known?: readonly string[],
  ): AsyncGenerator<Located[]> {
    const { objects } = this.#transport;
    const names = relPaths.map((relPath) => `${commit}:${messageFile(channel, relPath)}`);
    const oids = known ?? (names.length > AT_A_TIME ? await objects.ids(names) : undefined);
    for (let at = 0; at < relPaths.length; at += AT_A_TIME) {
      const read = relPaths.slice(at, at + AT_A_TIME).map(async (relPath, index) => ({
        relPath,
        message:
          oids === undefined
            ? await this.message(commit, channel, relPath)
            : await this.#messageOf(oids[at + index]),
      }));
      const found = await Promise.all(read);
      yield found.filter((item): item is Located => item.message !== undefined);
    }
  }

  async #messageOf(oid: string | undefined): Promise<Message | undefined> {
    const parsed =
      oid === undefined ? undefined : await this.parse({ path: '', oid, mode: '100644' });
    return parsed?.ok === true ? parsed.value : undefined;
  }

  /**
   * Reads a file of a tree as a message: malformed when it is none (protocol.md §2), undefined when
   * its content is missing from this clone.
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
   * Everything the messages answer or were caused by, followed to its roots, for the pure
   * functions of protocol.md §3 and §4.
   */
  async chain(commit: string, channel: string, from: readonly Located[]): Promise<Lookup> {
    const known = new Map<string, Message | undefined>(
      from.map(({ relPath, message }) => [relPath, message]),
    );
    let frontier: Message[] = from.map(({ message }) => message);
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
      for await (const some of this.#some(commit, channel, paths))
        for (const { relPath, message } of some) {
          text += message.body.length;
          const kept = text <= MAX_CHAIN_TEXT ? message : { ...message, body: LEFT_OUT };
          known.set(relPath, kept);
          frontier.push(kept);
        }
    }
    return (relPath) => known.get(relPath);
  }

  /** Messages of a channel from the day before `relPath` on, by path; at most `limit` of the first. */
  async since(commit: string, channel: string, relPath: string, limit: number): Promise<Located[]> {
    const found = await filesSince(this.#transport, commit, channel, relPath, limit);
    const paths = found.map((file) => file.relPath);
    const oids = found.map(({ oid }) => oid);
    return this.messages(commit, channel, paths, oids);
  }

  /** Every channel; one without a readable `CHANNEL.md` goes by its id (protocol.md §9). */
  async channels(commit: string): Promise<Channel[]> {
    const entries = await this.#transport.list(commit, [CHANNELS]);
    const repeats = new Repeats();
    const ids = entries.flatMap(({ path, oid, type }) => {
      const id = path.slice(CHANNELS.length + 1);
      if (type !== 'tree' || !isChannelId(id)) return [];
      const look = repeats.look(CHANNELS, [oid]);
      if (look === 'again') repeats.charge(CHANNELS, 0);
      return look === 'enough' ? [] : [id];
    });
    if (ids.length <= MANY_CHANNELS) return Promise.all(ids.map((id) => this.channel(commit, id)));
    const channels: Channel[] = [];
    for (const id of ids) {
      const path = channelFile(id);
      const files = await this.#transport.list(commit, [`${CHANNELS}/${id}`]);
      const file = files.find((one) => one.path === path);
      channels.push(await this.#channelAt(id, file?.oid));
    }
    return channels;
  }

  channel(commit: string, id: string): Promise<Channel> {
    return this.#channelAt(id, `${commit}:${channelFile(id)}`);
  }

  /** @param name the id of the content of its file, or another name of that */
  async #channelAt(id: string, name: string | undefined): Promise<Channel> {
    const kept = name === undefined ? { name: undefined } : await this.#channelOf(name);
    return kept.name === undefined ? { id, name: id, body: '' } : { ...kept, id };
  }

  async #channelOf(name: string): Promise<Omit<Channel, 'id'> | { name?: undefined }> {
    const known = this.#channels.get(name);
    if (known !== undefined) return known;
    const object = await this.#transport.objects.read(name);
    if (object?.type !== 'blob' || object.content === undefined) return {};
    const { oid, content } = object;
    const read = (): Omit<Channel, 'id'> | { name?: undefined } => {
      const channel = parseChannel(content.toString('utf8'), '');
      return channel.ok ? channel.value : {};
    };
    return this.#channels.get(oid) ?? this.#channels.keep(oid, read(), content.byteLength);
  }

  text(commit: string, path: string): Promise<string | undefined> {
    return this.#transport.objects.text(commit, path);
  }
}

/** Everybody who asks gets the same one. */
function frozen(result: Parsed<Message>): Parsed<Message> {
  if (result.ok) {
    const { to, re, cause, extra } = result.value;
    for (const part of [...to, to, re, cause, extra, result.value]) Object.freeze(part);
  }
  return Object.freeze(result);
}
