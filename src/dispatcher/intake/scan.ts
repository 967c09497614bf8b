import { type MessageRef, CHANNELS, messageFile, placeOf, CLAIMS } from '../../protocol/layout.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { activation } from '../../protocol/activation.ts';
import { UNREAD, type Delivery } from '../../protocol/mailbox.ts';
import type { Located } from '../../protocol/message.ts';
import { seenFrom } from '../../protocol/causality.ts';
import type { Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import type { FileRef } from '../../bus/channel-files.ts';
import { inCommitOrder } from '../../bus/commit-order.ts';
import { readHosts } from '../../bus/host.ts';
import { withoutRestored } from '../../bus/epochs.ts';
import { add, emptyScan, type Scan } from './scan-findings.ts';
import { OwnMessages } from './own-messages.ts';
import { stillOpen } from './still-open.ts';

export type { Scan };

/** The actors for which a scan is made. */
export interface Audience {
  host: string;
  actors: readonly string[];
}

interface Sources {
  transport: Transport;
  reader: MessageReader;
  /** Called between the portions of a long scan. */
  portion?: (() => void) | undefined;
}

/** The number of files read at a time: enough to keep git busy, and few enough for memory. */
const CHUNK = 500;
/** The most deleted messages that are remembered of one scan. */
const MAX_REMOVED = 100_000;
/** The most messages of which it is remembered who sent them. */
const MAX_SENDERS = 100_000;
/** The number of files that are gathered before their contents are requested. */
const MANY = 5000;

/** A message without its body, but with the size of the body. */
interface Read extends Located {
  channel: string;
  bytes: number;
}

/** Reads the messages added between two commits and finds whom they wake; the cost grows with their number. */
export async function scanAdded(
  sources: Sources,
  audience: Audience,
  from: string,
  to: string,
): Promise<Scan> {
  const scan = emptyScan();
  const read: Read[] = [];
  let files: FileRef[] = [];
  const take = async (): Promise<void> => {
    for (const item of await readRelevant(sources, audience, files, scan)) read.push(item);
    files = [];
  };
  for await (const changes of sources.transport.changes(from, to)) {
    for (const change of changes) {
      const { kind } = placeOf(change.path);
      if (change.path.startsWith(`${CLAIMS}/`)) scan.claims.push(change.path);
      else if (kind === 'host' || kind === 'profile' || kind === 'upstream') scan.configured = true;
      else if (change.status === 'A') files.push(change);
      else if (kind === 'message') {
        const { path, status } = change;
        if (status === 'D' && scan.removed.length < MAX_REMOVED) scan.removed.push(path);
        add(scan.changed, { path, change: status === 'D' ? 'deleted' : 'edited' });
      }
    }
    if (files.length >= MANY) await take();
  }
  await take();
  const routed = await route(sources, audience, to, read, scan);
  const woken = await withoutRestored(sources.transport, from, to, routed);
  for (const one of unreadFor(audience, scan)) woken.push(one);
  scan.deliveries = await inCommitOrder(sources.transport, from, to, woken);
  return scan;
}

/**
 * Reads whole channels and finds the messages still unanswered (protocol.md §5): used for an actor that has no cursor
 * or has lost it. However large the transport is, memory holds only the headers of the messages that these actors
 * wrote or received; bodies are read again at dispatch.
 */
export async function scanUnanswered(
  sources: Sources,
  audience: Audience,
  tip: string,
): Promise<Scan> {
  const scan = emptyScan();
  const relevant = new Map<string, Read[]>();
  let files: FileRef[] = [];
  const read = async (): Promise<void> => {
    await sources.transport.prefetch(files.map(({ oid }) => oid));
    for (const item of await readRelevant(sources, audience, files, scan))
      append(relevant, item.channel, item);
    files = [];
  };
  for await (const some of sources.transport.walk(tip, CHANNELS)) {
    for (const file of some) files.push(file);
    if (files.length >= MANY) await read();
  }
  await read();
  const pending: Delivery[] = [];
  const ownOf = new Map(audience.actors.map((actor) => [actor, new OwnMessages()]));
  for (const [channel, found] of relevant)
    for (const item of found) ownOf.get(item.message.from)?.add(channel, item);
  for (const [channel, found] of relevant) {
    sources.portion?.();
    const woken = await route(sources, audience, tip, found, scan);
    for (const [actor, own] of ownOf) {
      const waking = woken.filter((delivery) => delivery.actor === actor);
      for (const one of await stillOpen(sources, { actor, channel, tip }, waking, own))
        pending.push(one);
    }
  }
  const reached = await withoutEarlierBroadcasts(sources, audience.host, tip, pending);
  // A message cancelled long ago is answered by the notice of that.
  const open = new Set(reached.map(({ relPath }) => relPath));
  scan.cancels = scan.cancels.filter(({ message: { cancels = '' } }) => open.has(cancels));
  for (const one of unreadFor(audience, scan)) reached.push(one);
  scan.deliveries = await inCommitOrder(sources.transport, undefined, tip, reached);
  return scan;
}

/** Reads messages whose content was missing again, at `tip`. */
export async function scanAgain(
  sources: Sources,
  audience: Audience,
  tip: string,
  places: readonly MessageRef[],
): Promise<Scan> {
  const scan = emptyScan();
  const files = places.map(({ channel, relPath }) => {
    const path = messageFile(channel, relPath);
    return { path, oid: `${tip}:${path}`, mode: '100644' };
  });
  const read = await readAll(sources.reader, files, scan);
  scan.deliveries = await route(sources, audience, tip, read, scan);
  return scan;
}

/**
 * Leaves out messages to everybody that were written before an actor was declared on this host: `all` reaches those
 * who were there (pools.md). History decides, since clocks differ; it is asked only where there is such a message.
 */
async function withoutEarlierBroadcasts(
  { transport }: Sources,
  host: string,
  tip: string,
  deliveries: readonly Delivery[],
): Promise<Delivery[]> {
  const isBroadcast = ({ actor, message }: Delivery): boolean =>
    message.to.length > 0 && message.to.every(({ name }) => name !== actor);
  const fileOf = ({ channel, relPath }: Delivery): string => messageFile(channel, relPath);
  const earlier = new Set<Delivery>();
  const broadcasts = deliveries.filter(isBroadcast);
  for (const actor of new Set(broadcasts.map((one) => one.actor))) {
    const undeclared = await transport.before(tip, (commit) =>
      declares(transport, commit, host, actor),
    );
    if (undeclared === undefined) continue;
    const own = broadcasts.filter((one) => one.actor === actor);
    const standing = await transport.standing(undeclared, own.map(fileOf));
    for (const one of own) if (standing.has(fileOf(one))) earlier.add(one);
  }
  return deliveries.filter((one) => !earlier.has(one));
}

async function declares(
  transport: Transport,
  commit: string,
  host: string,
  actor: string,
): Promise<boolean> {
  return (await readHosts(transport, commit)).some(
    ({ result }) => result.ok && result.value.alias === host && result.value.actors.has(actor),
  );
}

function unreadFor({ actors }: Audience, { unread }: Scan): Delivery[] {
  return unread.flatMap((place) =>
    actors.map((actor) => ({ ...place, actor, message: UNREAD, unread: true as const })),
  );
}

/** Returns the messages that matter for the audience, without their bodies; files are read in portions. */
async function readRelevant(
  { reader, portion }: Sources,
  audience: Audience,
  files: readonly FileRef[],
  scan: Scan,
): Promise<Read[]> {
  const relevant: Read[] = [];
  for (let at = 0; at < files.length; at += CHUNK) {
    if (at > 0) portion?.();
    const read = await readAll(reader, files.slice(at, at + CHUNK), scan);
    for (const item of read) if (concerns(item, audience)) relevant.push(item);
  }
  return relevant;
}

async function readAll(
  reader: MessageReader,
  files: readonly FileRef[],
  scan: Scan,
): Promise<Read[]> {
  const read = await Promise.all(
    files.map(async (file): Promise<Read | undefined> => {
      const place = placeOf(file.path);
      if (place.kind === 'stray')
        add(scan.malformed, { path: file.path, reason: file.unread ?? place.reason });
      if (place.kind !== 'message') return undefined;
      const message = await reader.parse(file);
      if (message === undefined) {
        scan.unread.push({ channel: place.channel, relPath: place.relPath });
        return undefined;
      }
      if (message.ok)
        return {
          ...seenFrom(place.channel, place.channel, {
            relPath: place.relPath,
            message: { ...message.value, body: '' },
          }),
          channel: place.channel,
          bytes: Buffer.byteLength(message.value.body),
        };
      add(scan.malformed, { path: file.path, reason: message.problems.join('; ') });
      return undefined;
    }),
  );
  const messages = read.filter((item) => item !== undefined);
  scan.added += messages.length;
  return messages;
}

/** Whether an actor of the audience wrote it, or it is for one of them. */
function concerns({ message }: Read, { actors }: Audience): boolean {
  return (
    actors.includes(message.from) ||
    message.to.some(({ name }) => name === EVERYONE || actors.includes(name))
  );
}

/** Applies the activation rule for every actor of the audience; fills `own` and `skipped`. */
async function route(
  { reader }: Sources,
  { host, actors }: Audience,
  tip: string,
  read: readonly Read[],
  scan: Scan,
): Promise<Delivery[]> {
  const deliveries: Delivery[] = [];
  const sendersOf = sendersAt(reader, tip);
  for (const item of read) {
    const { channel, relPath, message } = item;
    if (actors.includes(message.from) && message.host === host) {
      append(scan.own, channel, item);
    }
    if (message.cancels !== undefined) scan.cancels.push(item);
    const names = new Set(message.to.map(({ name }) => name));
    const concerned = actors.filter((actor) => names.has(actor) || names.has('all'));
    if (concerned.length === 0) continue;
    const senders = await sendersOf(channel, message.re);
    for (const actor of concerned) {
      const { wakes, clause } = activation(message, actor, host, senders);
      if (wakes) deliveries.push({ ...item, actor });
      if (clause === 'other_host') scan.skipped.push({ channel, relPath, actor });
    }
  }
  return deliveries;
}

/**
 * Finds out who sent the messages that others name. Each is read once, however many name it: a thousand may
 * be named by each of a thousand others.
 */
function sendersAt(
  reader: MessageReader,
  tip: string,
): (channel: string, re: readonly string[]) => Promise<(relPath: string) => string | undefined> {
  const known = new Map<string, string | undefined>();
  return async (channel, re) => {
    if (known.size > MAX_SENDERS) known.clear();
    const unread = [...new Set(re)].filter((relPath) => !known.has(`${channel}/${relPath}`));
    const senders = unread.length > 0 ? await reader.senders(tip, channel, unread) : undefined;
    for (const relPath of unread) known.set(`${channel}/${relPath}`, senders?.get(relPath));
    return (relPath) => known.get(`${channel}/${relPath}`);
  };
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
