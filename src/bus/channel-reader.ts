import { parseChannel, type Channel } from '../protocol/files/channel.ts';
import { channelFile, CHANNELS, isChannelId } from '../protocol/layout.ts';
import { Repeats, type Transport } from '../transport/transport.ts';
import { Cache } from './cache.ts';

/**
 * Number of channels from which on each different content is read only once, at the cost of another read
 * of the tree.
 */
const MANY_CHANNELS = 1000;
/** Maximum bytes of channel files that are cached. */
const KEPT_BYTES = 16 * 1024 * 1024;

/**
 * Returns the ids of the channels at a commit. Of folders with the same content, only a limited number is
 * returned.
 */
export async function channelIds(transport: Transport, commit: string): Promise<string[]> {
  const entries = await transport.list(commit, [CHANNELS]);
  const repeats = new Repeats();
  return entries.flatMap(({ path, oid, type }) => {
    const id = path.slice(CHANNELS.length + 1);
    if (type !== 'tree' || !isChannelId(id)) return [];
    const look = repeats.look(CHANNELS, [oid]);
    if (look === 'again') repeats.charge(CHANNELS, 0);
    return look === 'enough' ? [] : [id];
  });
}

/** A reader of channels at a commit. */
export class ChannelReader {
  readonly #transport: Transport;
  readonly #channels = new Cache<Omit<Channel, 'id'> | { name?: undefined }>(KEPT_BYTES);
  /** The first channels of names that several have, by name and ids. */
  readonly #firsts = new Cache<Channel>(KEPT_BYTES);

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns every channel; one without a readable `CHANNEL.md` has its id as its name (protocol.md §9), and so has a
   * double: one with the name of a channel that had it before.
   */
  async all(commit: string): Promise<Channel[]> {
    const byName = new Map<string, Channel[]>();
    const channels = await this.#asWritten(commit);
    for (const channel of channels) {
      const same = byName.get(channel.name);
      if (same === undefined) byName.set(channel.name, [channel]);
      else same.push(channel);
    }
    const doubles = new Set<Channel>();
    for (const [name, same] of byName) {
      if (same.length === 1) continue;
      const first = await this.#firstCalled(commit, name, same);
      if (first !== undefined) for (const one of same) if (one !== first) doubles.add(one);
    }
    return channels.map((one) => (doubles.has(one) ? { ...one, name: one.id } : one));
  }

  /**
   * Finds which of some channels was the first to have a name, in the order of commits: anybody who can push can give
   * it to another, which must not receive what is sent to the first, nor stop it.
   *
   * @returns undefined where history does not tell: two of them came with one commit, or on lines that were merged
   */
  async #firstCalled(
    commit: string,
    name: string,
    channels: readonly Channel[],
  ): Promise<Channel | undefined> {
    const called = async (at: string, most: number): Promise<Channel[]> => {
      const found: Channel[] = [];
      for (const channel of channels)
        if (found.length < most && (await this.one(at, channel.id)).name === name)
          found.push(channel);
      return found;
    };
    const key = [name, ...channels.map(({ id }) => id)].join('/');
    const known = this.#firsts.get(key);
    if (known !== undefined) return channels.find(({ id }) => id === known.id);
    const two = 2;
    const alone = await this.#transport.before(
      commit,
      async (at) => (await called(at, two)).length === two,
    );
    if (alone === undefined) return undefined;
    const merge = ['rev-list', '--merges', '--max-count=1', `${alone}..${commit}`];
    const [first] = await called(alone, 1);
    if (first === undefined || (await this.#transport.git(merge)) !== '') return undefined;
    return this.#firsts.keep(key, first, key.length);
  }

  async #asWritten(commit: string): Promise<Channel[]> {
    const ids = await channelIds(this.#transport, commit);
    if (ids.length <= MANY_CHANNELS) return Promise.all(ids.map((id) => this.one(commit, id)));
    const channels: Channel[] = [];
    for (const id of ids) {
      const path = channelFile(id);
      const files = await this.#transport.list(commit, [`${CHANNELS}/${id}`]);
      const file = files.find((one) => one.path === path);
      channels.push(await this.#channelAt(id, file?.oid));
    }
    return channels;
  }

  one(commit: string, id: string): Promise<Channel> {
    return this.#channelAt(id, `${commit}:${channelFile(id)}`);
  }

  /** @param name the id of the content of its file, or another name for that object */
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
}
