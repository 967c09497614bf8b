import { type MessageRef, messageKey } from '../../protocol/message-ref.ts';
import { readHosts } from '../../bus/host.ts';
import { splitAt, type Beyond, type ServedActor, type Split } from '../../protocol/epoch.ts';
import { attachedPath, CHANNELS, messageFile, placeOf } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import { byChannel } from '../../protocol/reference.ts';
import { seenFrom } from '../../protocol/seen-from.ts';
import type { Context } from '../context.ts';
import { NamedFiles } from './named-files.ts';

/** The number of files read at a time. */
const CHUNK = 500;

/** Which messages of a bus are archived and which stay. */
export interface ArchivePlan {
  channels: { id: string; name: string; archived: number; waiting: number; kept: number }[];
  archived: number;
  /** The number of messages before that day that wait for an answer. */
  waiting: number;
  kept: number;
  /** The attached files that leave with them, because no message that stays names them. */
  files: number;
}

/** A message, with names relative to its channel. */
interface Standing {
  channel: string;
  located: Located;
}

/** A link from a message of one channel to a message in another channel that led to it. */
interface Crossing {
  from: Standing;
  to: MessageRef;
}

/**
 * Plans what is archived and what stays, channel by channel: memory holds the headers of one
 * channel.
 */
export async function planAt(
  context: Context,
  tip: string,
  before: string,
  withWaiting: boolean,
): Promise<{ plan: ArchivePlan; removed: string[] }> {
  const hosts = await readHosts(context.transport, tip);
  const served: ServedActor[] = hosts.flatMap(({ result }) =>
    result.ok
      ? [...result.value.actors.keys()].map((actor) => ({ host: result.value.alias, actor }))
      : [],
  );
  const removed: string[] = [];
  const all = await context.reader.channels(tip);
  const splits = new Map<string, Split>();
  const crossings: Crossing[] = [];
  const named = new NamedFiles();
  for (const { id } of all) {
    const messages = await headersOf(context, tip, id);
    named.note(id, messages);
    splits.set(id, splitAt(messages, before, served, withWaiting));
    crossings.push(...messages.flatMap((located) => crossingsOf(id, located)));
  }
  const others = await aroundCrossings(crossings, (id) => headersOf(context, tip, id));
  await followCrossings(crossings, async (id, staying) => {
    const messages = await headersOf(context, tip, id);
    const seen = others.flatMap(({ channel, located }) =>
      channel === id ? [] : [seenFrom(id, channel, located)],
    );
    const linked = messages.filter(({ message }) => message.origin !== undefined);
    const lookup = await context.reader.chain(tip, id, linked);
    const beyond: Beyond = { others: seen, lookup, staying };
    const split = splitAt(messages, before, served, withWaiting, beyond);
    splits.set(id, split);
    const ended = new Set(split.ended);
    return new Set(messages.flatMap(({ relPath }) => (ended.has(relPath) ? [] : [relPath])));
  });
  const channels = all.map(({ id, name }) => {
    const { ended = [], waiting = [], kept = 0 } = splits.get(id) ?? {};
    for (const relPath of ended) removed.push(messageFile(id, relPath));
    return { id, name, archived: ended.length, waiting: waiting.length, kept };
  });
  const files = await transportFiles(context, tip, named.onlyIn(splits));
  removed.push(...files);
  const sum = (part: 'archived' | 'waiting' | 'kept'): number =>
    channels.reduce((total, channel) => total + channel[part], 0);
  const counts = { archived: sum('archived'), waiting: sum('waiting'), kept: sum('kept') };
  return { plan: { channels, ...counts, files: files.length }, removed };
}

/** Those of some attached files that are on the bus, by their paths. */
async function transportFiles(
  { transport }: Context,
  tip: string,
  sha256s: readonly string[],
): Promise<string[]> {
  return [...(await transport.entriesAt(tip, sha256s.map(attachedPath))).keys()];
}

function crossingsOf(channel: string, located: Located): Crossing[] {
  if (located.message.origin === undefined) return [];
  return [...byChannel(channel, located.message.cause)].flatMap(([other, relPaths]) =>
    other === channel
      ? []
      : relPaths.map((relPath) => ({
          from: { channel, located },
          to: { channel: other, relPath },
        })),
  );
}

/** The messages at both ends of crossings, and the answers to those they lead to. */
async function aroundCrossings(
  crossings: readonly Crossing[],
  read: (channel: string) => Promise<Located[]>,
): Promise<Standing[]> {
  const ends = new Map<string, Set<string>>();
  for (const { to } of crossings)
    ends.set(to.channel, (ends.get(to.channel) ?? new Set()).add(to.relPath));
  const found = new Map<string, Standing>();
  const note = (channel: string, located: Located): void => {
    found.set(messageKey({ channel, relPath: located.relPath }), { channel, located });
  };
  for (const { from } of crossings) note(from.channel, from.located);
  for (const [channel, relPaths] of ends)
    for (const located of await read(channel))
      if ([located.relPath, ...located.message.re].some((one) => relPaths.has(one)))
        note(channel, located);
  return [...found.values()];
}

/**
 * A conversation that leads from one channel into another is archived as a whole as well: while one
 * end of a crossing stays, so does the other. Only channels with crossings are divided again.
 *
 * @param divide divides a channel, and returns which of its messages stay
 */
async function followCrossings(
  crossings: readonly Crossing[],
  divide: (channel: string, staying: string[]) => Promise<ReadonlySet<string>>,
): Promise<void> {
  const staying = new Map<string, Set<string>>();
  for (const { from, to } of crossings)
    for (const { channel } of [from, to]) staying.set(channel, new Set());
  const keep = (channel: string, relPath: string): boolean => {
    const known = staying.get(channel);
    if (known === undefined || known.has(relPath)) return false;
    known.add(relPath);
    return true;
  };
  const waiting = new Set(staying.keys());
  for (const id of waiting) {
    waiting.delete(id);
    const stays = await divide(id, [...(staying.get(id) ?? [])]);
    for (const { from, to } of crossings) {
      const { relPath } = from.located;
      if (from.channel === id && stays.has(relPath) && keep(to.channel, to.relPath))
        waiting.add(to.channel);
      if (to.channel === id && stays.has(to.relPath) && keep(from.channel, relPath))
        waiting.add(from.channel);
    }
  }
}

/**
 * The messages of a channel in path order, with names relative to it and without bodies. Files that
 * are not messages stay where they are.
 */
async function headersOf(context: Context, tip: string, channel: string): Promise<Located[]> {
  const found: Located[] = [];
  for await (const files of context.transport.walk(tip, `${CHANNELS}/${channel}`)) {
    await context.transport.prefetch(files.map(({ oid }) => oid));
    for (let at = 0; at < files.length; at += CHUNK) {
      const read = files.slice(at, at + CHUNK).map(async (file) => {
        const place = placeOf(file.path);
        const parsed = place.kind === 'message' ? await context.reader.parse(file) : undefined;
        if (place.kind !== 'message' || parsed?.ok !== true) return [];
        const header = { relPath: place.relPath, message: { ...parsed.value, body: '' } };
        return [seenFrom(channel, channel, header)];
      });
      found.push(...(await Promise.all(read)).flat());
    }
  }
  return found;
}
