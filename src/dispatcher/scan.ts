import { EVERYONE } from '../protocol/address.ts';
import { activation } from '../protocol/activation.ts';
import { CHANNELS, messageFile, placeOf } from '../protocol/layout.ts';
import { UNREAD, type Delivery } from '../protocol/mailbox.ts';
import type { Located } from '../protocol/message.ts';
import { unanswered } from '../protocol/pending.ts';
import type { Transport } from '../transport/transport.ts';
import type { Archive, FileRef } from './archive.ts';
import { inCommitOrder } from './commit-order.ts';
import { withoutRestored } from './epochs.ts';

/** What a scan came upon, in commit order. */
export interface Scan {
  /** For whom a message is whose content is missing, only the message would tell: for each actor. */
  deliveries: Delivery[];
  /** Messages that the actors of this host wrote on this host, by channel. */
  own: Map<string, Located[]>;
  malformed: { path: string; reason: string }[];
  /** Messages whose content is missing from this clone. */
  unread: { channel: string; relPath: string }[];
  /** Messages that somebody edited or deleted: said, and nothing else is done about it. */
  changed: { path: string; change: 'edited' | 'deleted' }[];
  /** Messages kept away only by an `@host` (protocol.md §3). */
  skipped: { channel: string; relPath: string; actor: string }[];
  /** Files that say how to run: hosts, profiles, upstream. */
  configured: boolean;
  added: number;
}

/** For whom a scan is made. */
export interface Audience {
  host: string;
  actors: readonly string[];
}

interface Sources {
  transport: Transport;
  archive: Archive;
}

/** Files read at a time: enough to keep git busy, few enough to hold. */
const CHUNK = 500;
/** Files gathered before their contents are asked for. */
const MANY = 5000;

interface Read extends Located {
  channel: string;
}

/** Reads what was added between two commits and finds whom it wakes; cost follows what is new. */
export async function scanAdded(
  sources: Sources,
  audience: Audience,
  from: string,
  to: string,
): Promise<Scan> {
  const scan = emptyScan();
  const changes = await sources.transport.changes(from, to);
  const files: FileRef[] = [];
  for (const change of changes) {
    const { kind } = placeOf(change.path);
    if (kind === 'host' || kind === 'profile' || kind === 'upstream') scan.configured = true;
    else if (change.status === 'A') files.push(change);
    else if (kind === 'message') {
      scan.changed.push({
        path: change.path,
        change: change.status === 'D' ? 'deleted' : 'edited',
      });
    }
  }
  const read = await readRelevant(sources.archive, audience, files, scan);
  const routed = await route(sources, audience, to, read, scan);
  const woken = await withoutRestored(sources.transport, from, to, routed);
  woken.push(...unreadFor(audience, scan));
  scan.deliveries = await inCommitOrder(sources.transport, from, to, woken);
  return scan;
}

/**
 * Reads whole channels and finds what is still unanswered (protocol.md §5): for an actor without
 * a cursor, or whose cursor is lost. However large the transport, memory holds the headers of what
 * its actors wrote or were sent; bodies are read again at dispatch.
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
    for (const item of await readRelevant(sources.archive, audience, files, scan))
      append(relevant, item.channel, item);
    files = [];
  };
  for await (const folder of sources.transport.walk(tip, CHANNELS)) {
    files.push(...folder);
    if (files.length >= MANY) await read();
  }
  await read();
  const pending: Delivery[] = [];
  for (const [channel, found] of relevant) {
    const woken = await route(sources, audience, tip, found, scan);
    const lookup = await sources.archive.chain(
      tip,
      channel,
      woken.filter(({ message }) => message.re.length > 0),
    );
    for (const actor of audience.actors) {
      const own = found.filter(({ message }) => message.from === actor);
      const waking = woken.filter((delivery) => delivery.actor === actor);
      const open = new Set(unanswered(waking, own, actor, lookup).map(({ relPath }) => relPath));
      pending.push(...waking.filter(({ relPath }) => open.has(relPath)));
    }
  }
  pending.push(...unreadFor(audience, scan));
  scan.deliveries = await inCommitOrder(sources.transport, undefined, tip, pending);
  return scan;
}

/** Reads again, at `tip`, messages whose content was missing. */
export async function scanAgain(
  sources: Sources,
  audience: Audience,
  tip: string,
  places: readonly { channel: string; relPath: string }[],
): Promise<Scan> {
  const scan = emptyScan();
  const files = places.map(({ channel, relPath }) => {
    const path = messageFile(channel, relPath);
    return { path, oid: `${tip}:${path}`, mode: '100644' };
  });
  const read = await readAll(sources.archive, files, scan);
  scan.deliveries = await route(sources, audience, tip, read, scan);
  return scan;
}

function unreadFor({ actors }: Audience, { unread }: Scan): Delivery[] {
  return unread.flatMap((place) =>
    actors.map((actor) => ({ ...place, actor, message: UNREAD, unread: true as const })),
  );
}

function emptyScan(): Scan {
  return {
    deliveries: [],
    own: new Map(),
    malformed: [],
    unread: [],
    changed: [],
    skipped: [],
    configured: false,
    added: 0,
  };
}

/** The messages that concern the audience, without their bodies; a part of the files at a time. */
async function readRelevant(
  archive: Archive,
  audience: Audience,
  files: readonly FileRef[],
  scan: Scan,
): Promise<Read[]> {
  const relevant: Read[] = [];
  for (let at = 0; at < files.length; at += CHUNK) {
    const read = await readAll(archive, files.slice(at, at + CHUNK), scan);
    const concerning = read.filter((item) => concerns(item, audience));
    relevant.push(
      ...concerning.map((item) => ({ ...item, message: { ...item.message, body: '' } })),
    );
  }
  return relevant;
}

async function readAll(archive: Archive, files: readonly FileRef[], scan: Scan): Promise<Read[]> {
  const read = await Promise.all(
    files.map(async (file): Promise<Read | undefined> => {
      const place = placeOf(file.path);
      if (place.kind === 'stray') scan.malformed.push({ path: file.path, reason: place.reason });
      if (place.kind !== 'message') return undefined;
      const message = await archive.parse(file);
      if (message === undefined) {
        scan.unread.push({ channel: place.channel, relPath: place.relPath });
        return undefined;
      }
      if (message.ok)
        return { relPath: place.relPath, channel: place.channel, message: message.value };
      scan.malformed.push({ path: file.path, reason: message.problems.join('; ') });
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
  { archive }: Sources,
  { host, actors }: Audience,
  tip: string,
  read: readonly Read[],
  scan: Scan,
): Promise<Delivery[]> {
  const deliveries: Delivery[] = [];
  for (const item of read) {
    const { channel, relPath, message } = item;
    if (actors.includes(message.from) && message.host === host) {
      append(scan.own, channel, item);
    }
    const names = new Set(message.to.map(({ name }) => name));
    const concerned = actors.filter((actor) => names.has(actor) || names.has('all'));
    if (concerned.length === 0) continue;
    const senders = await sendersOf(archive, tip, channel, message.re);
    for (const actor of concerned) {
      const { wakes, clause } = activation(message, actor, host, senders);
      if (wakes) deliveries.push({ ...item, actor });
      if (clause === 'other_host') scan.skipped.push({ channel, relPath, actor });
    }
  }
  return deliveries;
}

async function sendersOf(
  archive: Archive,
  tip: string,
  channel: string,
  re: readonly string[],
): Promise<(relPath: string) => string | undefined> {
  const answered = await archive.messages(tip, channel, re);
  const senders = new Map(answered.map(({ relPath, message }) => [relPath, message.from]));
  return (relPath) => senders.get(relPath);
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
