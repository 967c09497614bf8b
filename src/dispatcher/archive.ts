import type { Lookup } from '../protocol/causality.ts';
import { MAX_STEPS } from '../protocol/causality.ts';
import { parseChannel, type Channel } from '../protocol/channel.ts';
import { channelFile, CHANNELS, messageFile, placeOf } from '../protocol/layout.ts';
import { parseMessage, type Located, type Message } from '../protocol/message.ts';
import { dayOf, isChannelId } from '../protocol/names.ts';
import { unreadable, type Parsed } from '../protocol/result.ts';
import type { Transport } from '../transport/transport.ts';

/** A file as a tree or a comparison of trees names it. */
export interface FileRef {
  path: string;
  oid: string;
  mode: string;
}

/** No chain reads more messages than this, however many a hostile message names. */
const MAX_CHAIN = 2000;

/** Messages and channels as they stand at a commit, read through one open git process. */
export class Archive {
  readonly #transport: Transport;
  /** By the id of the file's content: a dispatcher meets the same few again and again. */
  readonly #channels = new Map<string, Channel>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The message at a path; undefined when there is none there, or none that can be read. */
  async message(commit: string, channel: string, relPath: string): Promise<Message | undefined> {
    const object = await this.#transport.objects.read(`${commit}:${messageFile(channel, relPath)}`);
    if (object?.type !== 'blob' || object.content === undefined) return undefined;
    const message = parseMessage(object.content);
    return message.ok ? message.value : undefined;
  }

  /** The messages at some paths of a channel; those that cannot be read are left out. */
  async messages(commit: string, channel: string, relPaths: readonly string[]): Promise<Located[]> {
    const found = await Promise.all(
      relPaths.map(async (relPath) => ({
        relPath,
        message: await this.message(commit, channel, relPath),
      })),
    );
    return found.filter((item): item is Located => item.message !== undefined);
  }

  /**
   * Reads a file of a tree as a message: malformed when it is none (protocol.md §2), undefined when
   * its content is missing from this clone.
   */
  async parse(file: FileRef): Promise<Parsed<Message> | undefined> {
    if (file.mode === '120000') return unreadable('a symlink');
    if (file.mode === '160000') return unreadable('a submodule');
    const object = await this.#transport.objects.read(file.oid);
    if (object === undefined) return undefined;
    if (object.content === undefined)
      return unreadable(`larger than 1 MiB: ${String(object.size)} bytes`);
    return parseMessage(object.content);
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
    for (
      let step = 0;
      step < 2 * MAX_STEPS && frontier.length > 0 && known.size < from.length + MAX_CHAIN;
      step++
    ) {
      const wanted = new Set(frontier.flatMap(({ re, cause }) => [...re, ...cause]));
      const paths = [...wanted].filter((relPath) => !known.has(relPath)).slice(0, MAX_CHAIN);
      for (const relPath of paths) known.set(relPath, undefined);
      const found = await this.messages(commit, channel, paths);
      for (const { relPath, message } of found) known.set(relPath, message);
      frontier = found.map(({ message }) => message);
    }
    return (relPath) => known.get(relPath);
  }

  /** Messages of a channel from the day before `relPath` on, by path; at most `limit` of the first. */
  async since(commit: string, channel: string, relPath: string, limit: number): Promise<Located[]> {
    const start = dayBefore(relPath);
    const folders = await this.#foldersFrom(commit, `${CHANNELS}/${channel}`, start.split('/'));
    const files = await this.#transport.list(commit, folders, true);
    const paths = files.flatMap(({ path }) => {
      const place = placeOf(path);
      return place.kind === 'message' ? [place.relPath] : [];
    });
    return this.messages(commit, channel, paths.slice(0, limit));
  }

  /** The folders below `parent` that hold `start` (a path of names) or anything after it. */
  async #foldersFrom(
    commit: string,
    parent: string,
    [first, ...rest]: string[],
  ): Promise<string[]> {
    if (first === undefined) return [parent];
    const entries = await this.#transport.list(commit, [parent]);
    const folders = entries.filter(({ type }) => type === 'tree').map(({ path }) => path);
    const edge = `${parent}/${first}`;
    const inside = folders.includes(edge) ? await this.#foldersFrom(commit, edge, rest) : [];
    return [...inside, ...folders.filter((path) => path > edge)];
  }

  /** Every channel; one without a readable `CHANNEL.md` goes by its id (protocol.md §9). */
  async channels(commit: string): Promise<Channel[]> {
    const entries = await this.#transport.list(commit, [CHANNELS]);
    const ids = entries.map(({ path }) => path.slice(CHANNELS.length + 1)).filter(isChannelId);
    return Promise.all(ids.map((id) => this.channel(commit, id)));
  }

  async channel(commit: string, id: string): Promise<Channel> {
    const object = await this.#transport.objects.read(`${commit}:${channelFile(id)}`);
    if (object?.type !== 'blob' || object.content === undefined) return { id, name: id, body: '' };
    const known = this.#channels.get(object.oid);
    if (known?.id === id) return known;
    const parsed = parseChannel(object.content.toString('utf8'), id);
    const channel = parsed.ok ? parsed.value : { id, name: id, body: '' };
    this.#channels.set(object.oid, channel);
    return channel;
  }

  text(commit: string, path: string): Promise<string | undefined> {
    return this.#transport.objects.text(commit, path);
  }
}

function dayBefore(relPath: string): string {
  const day = new Date(`${dayOf(relPath).replaceAll('/', '-')}T00:00:00Z`);
  if (Number.isNaN(day.getTime())) return dayOf(relPath);
  day.setUTCDate(day.getUTCDate() - 1);
  return day.toISOString().slice(0, 10).replaceAll('-', '/');
}
